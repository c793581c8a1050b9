"""Nodes of Quorate at which brokers and clients of RocketMQ find their name server."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import tomlkit
from quorate.testing.cluster import Cluster
from quorate.testing.ports import free_ports

#: The shard that holds brokers and routes.
SHARD: Final = "name_server/0"


class Doors(Cluster):
    """A cluster whose nodes serve RocketMQ's protocol, each at a port of its own."""

    def __init__(self, directory: Path, nodes: int = 3, **section: object) -> None:
        super().__init__(directory, nodes, plugins=["name_server"])
        #: Where each node serves it, by the node's name.
        self.doors: Final[dict[str, str]] = {}
        for name, node in self.nodes.items():
            [port] = free_ports(0)
            self.doors[name] = f"127.0.0.1:{port}"
            file = tomlkit.parse(node.file.read_text())
            file["plugins"]["name_server"] = {"remoting_port": port, **section}
            node.file.write_text(tomlkit.dumps(file))

    @property
    def name_servers(self) -> str:
        """All of them, as a broker's `namesrvAddr`."""
        return ";".join(self.doors.values())
