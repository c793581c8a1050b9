"""Three nodes that serve etcd's clients: etcd itself, and Quorate with its plugin."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Protocol

import grpc
from quorate.plugin.advanced import Stub
from quorate.testing.ports import HeldPort
from quorate.testing.waiting import until
from quorate_etcd.wire import rpc_pb2 as rpc

from systems.processes import Programs, Served
from systems.system import NODES, MissingError, Nodes
from tests.support.etcd import newest, ours

_MAINTENANCE: Final = rpc.DESCRIPTOR.services_by_name["Maintenance"]


class ClientNodes(Nodes, Protocol):
    """Three nodes with the ports of etcd's clients."""

    #: Of the clients' ports, by node.
    addresses: dict[str, str]
    #: Where the nodes keep their data.
    directory: Path


class StockNodes(Programs):
    """etcd with its default settings: 100 ms heartbeats, elections after 1,000 ms, fsync on."""

    name = "etcd"

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.addresses: dict[str, str] = {}
        self._peers: Final[dict[str, str]] = {}

    def start(self) -> None:
        """Start the nodes, and wait until they serve."""
        if newest.program() is None:
            raise MissingError("there is no etcd here: install Go, or Debian's etcd-server")
        for name in NODES:
            client, peer = (self._exit.enter_context(HeldPort()) for _ in range(2))
            self.addresses[name], self._peers[name] = client.address, f"http://{peer.address}"
            self._add(name)
        for name in NODES:
            self._run(name)
        self.leader()
        until(lambda: all(map(self._serves, NODES)) or None)

    def leader(self) -> str:
        """Wait for a leader, and return its name."""

        def find() -> str | None:
            for name, program in self._programs.items():
                status = self._status(name) if program.runs else None
                if status and status.leader == status.header.member_id:
                    self.version = status.version
                    return name
            return None

        return until(find)

    def _command(self, name: str) -> list[str]:
        client, peer = f"http://{self.addresses[name]}", self._peers[name]
        members = ",".join(f"{each}={url}" for each, url in self._peers.items())
        return [
            str(newest.program()),
            *("--name", name),
            *("--data-dir", str(self.directory / name)),
            *("--listen-client-urls", client, "--advertise-client-urls", client),
            *("--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer),
            *("--initial-cluster", members, "--initial-cluster-token", "peers"),
            *("--log-level", "error"),
        ]

    def _serves(self, name: str) -> bool:
        return self._status(name) is not None

    def _status(self, name: str) -> rpc.StatusResponse | None:
        with grpc.insecure_channel(self.addresses[name]) as asked:
            try:
                told: rpc.StatusResponse = Stub(asked, _MAINTENANCE).Status(
                    rpc.StatusRequest(), timeout=1
                )
            except grpc.RpcError:
                return None
        return told if told.leader else None


class DoorNodes(Served):
    """`quorate serve` with the plugin `etcd` and its default settings."""

    name = "Quorate"
    shard = "etcd/0"

    def __init__(self, directory: Path) -> None:
        super().__init__()
        self.directory = directory
        self.addresses: dict[str, str] = {}

    def start(self) -> None:
        """Start the nodes, and wait until they serve."""
        started = self._exit.enter_context(ours.started(self.directory, len(NODES), timing={}))
        self._cluster = started.cluster
        for name, port in started.ports.items():
            self.addresses[name] = f"127.0.0.1:{port}"
            with grpc.insecure_channel(self.addresses[name]) as asked:
                grpc.channel_ready_future(asked).result(timeout=60)
