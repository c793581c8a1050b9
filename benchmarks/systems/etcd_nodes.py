"""Three nodes that serve etcd's clients: etcd itself, and Quorate with its plugin."""

from __future__ import annotations

import os
import signal
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path
from typing import Final, Protocol

import grpc
from quorate.plugin.advanced import Stub
from quorate.testing.ports import HeldPort
from quorate.testing.program import Program
from quorate.testing.waiting import until
from quorate_etcd.wire import rpc_pb2 as rpc

from systems.system import NODES, MissingError, Nodes
from tests.support.etcd import newest, ours

_SHARD: Final = "etcd/0"
_MAINTENANCE: Final = rpc.DESCRIPTOR.services_by_name["Maintenance"]


class ClientNodes(Nodes, Protocol):
    """Three nodes with the ports of etcd's clients."""

    #: Of the clients' ports, by node.
    addresses: dict[str, str]
    #: Where the nodes keep their data.
    directory: Path


class StockNodes:
    """etcd with its default settings: 100 ms heartbeats, elections after 1,000 ms, fsync on."""

    name = "etcd"

    def __init__(self, directory: Path) -> None:
        self.version = ""
        self.directory = directory
        self.addresses: dict[str, str] = {}
        self._exit: Final = ExitStack()
        self._programs: Final[dict[str, Program]] = {}
        self._peers: Final[dict[str, str]] = {}

    def start(self) -> None:
        """Start the nodes, and wait until they serve."""
        if newest.program() is None:
            raise MissingError("there is no etcd here: install Go, or Debian's etcd-server")
        for name in NODES:
            client, peer = (self._exit.enter_context(HeldPort()) for _ in range(2))
            self.addresses[name], self._peers[name] = client.address, f"http://{peer.address}"
            self._programs[name] = Program(name, self.directory / f"{name}.log")
            self._exit.callback(self._programs[name].close)
        for name in NODES:
            self._run(name)
        self.leader()
        until(lambda: all(self._status(name) for name in NODES) or None)

    def close(self) -> None:
        """End the nodes."""
        self._exit.close()

    def pids(self) -> list[int]:
        """Return the processes of the nodes that run."""
        return [program.pid for program in self._programs.values() if program.runs]

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

    def kill(self, node: str) -> None:
        """Kill a node as `kill -9` does."""
        self._programs[node].end(signal.SIGKILL)

    def revive(self, node: str) -> None:
        """Start a node again, and wait until it serves."""
        self._run(node)
        until(lambda: self._status(node))

    def _run(self, name: str) -> None:
        client, peer = f"http://{self.addresses[name]}", self._peers[name]
        members = ",".join(f"{each}={url}" for each, url in self._peers.items())
        self._programs[name].start(
            [
                str(newest.program()),
                *("--name", name),
                *("--data-dir", str(self.directory / name)),
                *("--listen-client-urls", client, "--advertise-client-urls", client),
                *("--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer),
                *("--initial-cluster", members, "--initial-cluster-token", "peers"),
                *("--log-level", "error"),
            ],
            {**os.environ},
        )

    def _status(self, name: str) -> rpc.StatusResponse | None:
        with grpc.insecure_channel(self.addresses[name]) as asked:
            try:
                told: rpc.StatusResponse = Stub(asked, _MAINTENANCE).Status(
                    rpc.StatusRequest(), timeout=1
                )
            except grpc.RpcError:
                return None
        return told if told.leader else None


class DoorNodes:
    """`quorate serve` with the plugin `etcd` and its default settings."""

    name = "Quorate"

    def __init__(self, directory: Path) -> None:
        self.version = version("quorate")
        self.directory = directory
        self.addresses: dict[str, str] = {}
        self._exit: Final = ExitStack()

    def start(self) -> None:
        """Start the nodes, and wait until they serve."""
        started = self._exit.enter_context(ours.started(self.directory, len(NODES), timing={}))
        self._cluster = started.cluster
        for name, port in started.ports.items():
            self.addresses[name] = f"127.0.0.1:{port}"
            self._wait(name)

    def close(self) -> None:
        """End the nodes."""
        self._exit.close()

    def pids(self) -> list[int]:
        """Return the processes of the nodes that run."""
        return [node.pid for node in self._cluster.nodes.values() if node.runs]

    def leader(self) -> str:
        """Wait for a leader, and return its name."""
        return self._cluster.leader(_SHARD).name

    def kill(self, node: str) -> None:
        """Kill a node as `kill -9` does."""
        self._cluster.nodes[node].kill()

    def revive(self, node: str) -> None:
        """Start a node again, and wait until it serves."""
        self._cluster.nodes[node].start()
        self._cluster.nodes[node].ready()

    def _wait(self, name: str) -> None:
        with grpc.insecure_channel(self.addresses[name]) as asked:
            grpc.channel_ready_future(asked).result(timeout=60)
