"""Nodes of Quorate at which RocketMQ finds its name server and its controller."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import tomlkit
from quorate.testing.cluster import Cluster
from quorate.testing.ports import free_ports

#: The shard that holds brokers and routes.
SHARD: Final = "name_server/0"


class Doors(Cluster):
    """A cluster whose nodes serve RocketMQ's protocol, each at ports of its own."""

    def __init__(self, directory: Path, nodes: int = 3, **section: object) -> None:
        super().__init__(directory, nodes, plugins=["name_server"])
        #: Where each node serves it, by the node's name.
        self.doors: Final[dict[str, str]] = {}
        #: Where each node is a controller, by the node's name.
        self.controllers: Final[dict[str, str]] = {}
        for name, node in self.nodes.items():
            [port, own] = free_ports(0, 1)
            self.doors[name] = f"127.0.0.1:{port}"
            self.controllers[name] = f"127.0.0.1:{own}"
            file = tomlkit.parse(node.file.read_text())
            ports = {"remoting_port": port, "controller_port": own}
            file["plugins"]["name_server"] = {**ports, **section}
            node.file.write_text(tomlkit.dumps(file))

    @property
    def name_servers(self) -> str:
        """All of them, as a broker's `namesrvAddr`."""
        return ";".join(self.doors.values())
