"""Lets kazoo's own tests run on Quorate: a pytest plugin that stands for its cluster of servers.

`python -m pytest -p tests.support.zookeeper.kazoo_suite kazoo/tests`, in its source distribution.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from kazoo.testing import harness
from quorate.cli.authority import make_authority, sign
from quorate.testing.cluster import NodeProcess
from quorate.testing.ports import free_ports

from tests.support.zookeeper.cluster import ZooKeeperDoors

#: The password of its super user is `test`.
_SUPER: Final = "super:D/InIHSb7yEEbrWz8b9l71RjZJU="


class Server:
    """A node, as kazoo's tests know a server."""

    def __init__(self, node: NodeProcess, address: str, tls_port: int) -> None:
        self._node: Final = node
        self.address: Final = address
        self.secure_address: Final = f"127.0.0.1:{tls_port}"
        self.secure_client_port: Final = tls_port
        self.client_port: Final = int(address.rsplit(":", 1)[1])

    @property
    def running(self) -> bool:
        """Whether its process runs."""
        return self._node.runs

    def run(self) -> None:
        """Start it again."""
        if not self.running:
            self._node.start()
            self._node.ready()

    def stop(self) -> None:
        """End its process."""
        if self.running:
            self._node.stop()


class Servers:
    """A cluster that begins with the first test and ends with the last."""

    def __init__(self) -> None:
        self._directory: Final = TemporaryDirectory()
        directory = Path(self._directory.name)
        self._certificates: Final = directory / "certificates"
        make_authority(self._certificates)
        for name in ("server", "client"):
            sign(self._certificates, name, ["127.0.0.1", "localhost"])
        nodes = int(os.environ.get("QUORATE_NODES", "1"))
        tls_ports = [free_ports(0)[0] for _ in range(nodes)]
        self._cluster: Final = ZooKeeperDoors(
            directory / "cluster",
            nodes,
            four_letter_words=["*"],
            super_digest=_SUPER,
            cert_file=str(self._certificates / "server.pem"),
            key_file=str(self._certificates / "server.key"),
            client_ca_file=str(self._certificates / "ca.pem"),
            tls_ports=tls_ports,
        )
        self._cluster.__enter__()
        self._cluster.ready()
        self._servers: Final = [
            Server(node, self._cluster.doors[name], port)
            for (name, node), port in zip(self._cluster.nodes.items(), tls_ports, strict=True)
        ]
        atexit.register(self._end)

    def __iter__(self) -> Iterator[Server]:
        return iter(self._servers)

    def __getitem__(self, number: int) -> Server:
        return self._servers[number]

    def start(self) -> None:
        """Start the servers that were stopped."""
        for server in self._servers:
            server.run()

    def stop(self) -> None:
        """Let them run: the next test needs them again."""

    terminate = stop

    def get_logs(self) -> list[str]:
        """Return what the nodes wrote."""
        return [node.said[-5_000:] for node in self._cluster.nodes.values()]

    def get_ssl_client_configuration(self) -> dict[str, Any]:
        """Return the files of a client's certificate."""
        files = {"client_key": "client.key", "client_cert": "client.pem", "ca_cert": "ca.pem"}
        return {name: (self._certificates / file).read_bytes() for name, file in files.items()}

    def _end(self) -> None:
        self._cluster.__exit__(None, None, None)
        self._directory.cleanup()


_started: Final[list[Servers]] = []


def _servers() -> Servers:
    if not _started:
        _started.append(Servers())
    return _started[0]


harness.get_global_cluster = _servers
