"""Nodes of Quorate that serve etcd's clients, each a process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import tomlkit
from quorate.testing.cluster.cluster import QUICK_ELECTIONS, Cluster
from quorate.testing.ports import free_ports


class Ours(NamedTuple):
    """The nodes, and the ports of their stores, by the names of the nodes."""

    cluster: Cluster
    ports: dict[str, int]

    @property
    def port(self) -> int:
        """The port of the first node."""
        return next(iter(self.ports.values()))


def open_ports(cluster: Cluster, **settings: int) -> dict[str, int]:
    """Give each node a port for etcd's clients, before it starts; return them by node."""
    ports = {}
    for name, node in cluster.nodes.items():
        [ports[name]] = free_ports(0)
        content = tomlkit.parse(node.file.read_text())
        content["plugins"]["etcd"] = {"port": ports[name], **settings}
        node.file.write_text(tomlkit.dumps(content))
    return ports


@contextmanager
def started(
    directory: Path,
    nodes: int = 1,
    timing: Mapping[str, object] = QUICK_ELECTIONS,
    *,
    tls: bool = False,
    storage: Mapping[str, object] = MappingProxyType({}),
    **settings: int,
) -> Iterator[Ours]:
    """Start nodes with settings of the plugin, and end them with the block.

    With `tls` all ports are encrypted, and ask for certificates.
    """
    cluster = Cluster(
        directory, nodes, plugins=["etcd"], settings={"timing": timing, "storage": storage}, tls=tls
    )
    ports = open_ports(cluster, **settings)
    with cluster:
        cluster.ready()
        yield Ours(cluster, ports)
