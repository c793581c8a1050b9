"""Nodes of Quorate that serve ZooKeeper's clients."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import tomlkit
from quorate.testing.cluster import Cluster
from quorate.testing.ports import free_ports

#: The shard that holds the znodes.
SHARD: Final = "zookeeper/0"


class ZooKeeperDoors(Cluster):
    """A cluster whose nodes serve ZooKeeper's clients, each at a port of its own."""

    def __init__(
        self,
        directory: Path,
        nodes: int = 3,
        *,
        plugins: Sequence[str] = (),
        tls_ports: Sequence[int] = (),
        **section: object,
    ) -> None:
        super().__init__(directory, nodes, plugins=["zookeeper", *plugins])
        #: Where each node serves them, by the node's name.
        self.doors: Final[dict[str, str]] = {}
        for number, (name, node) in enumerate(self.nodes.items()):
            [port] = free_ports(0)
            self.doors[name] = f"127.0.0.1:{port}"
            file = tomlkit.parse(node.file.read_text())
            served: dict[str, object] = {"port": port, **section}
            if tls_ports:
                served["tls_port"] = tls_ports[number]
            file["plugins"]["zookeeper"] = served
            node.file.write_text(tomlkit.dumps(file))

    @property
    def hosts(self) -> str:
        """All of them, as a client's connection string."""
        return ",".join(self.doors.values())
