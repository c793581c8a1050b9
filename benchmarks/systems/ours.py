"""Three nodes of Quorate."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from importlib.metadata import version
from itertools import cycle
from pathlib import Path
from typing import Any, Final

import grpc
import grpc.aio
from quorate.client import AsyncClient, connect
from quorate.testing.cluster import Cluster
from quorate.v1 import kv_pb2, kv_pb2_grpc

from systems.closed_loop import calls, channel, closed_loop
from systems.system import ATTEMPT_S, KEYS, READS_A_CALL, AttemptFailedError, Load, values

BATCH: Final = 1_000


class Quorate:
    """`quorate serve` with its default settings: heartbeats of 100 ms, elections from 500 ms on."""

    name = "Quorate"

    def __init__(self, directory: Path) -> None:
        self.version = version("quorate")
        self._cluster: Final = Cluster(directory)
        self._exit: Final = ExitStack()
        self._channels: list[grpc.aio.Channel] = []
        self._client: AsyncClient | None = None
        self._leader: Any = None
        self._writers: Any = None
        self._writer: Any = None

    def start(self) -> None:
        """Start the nodes, and wait until they serve."""
        self._exit.enter_context(self._cluster).ready()

    def close(self) -> None:
        """End the nodes."""
        self._exit.close()

    def pids(self) -> list[int]:
        """Return the processes of the nodes that run."""
        return [node.pid for node in self._cluster.nodes.values() if node.runs]

    def leader(self) -> str:
        """Wait for a leader, and return its name."""
        return self._cluster.leader().name

    def kill(self, node: str) -> None:
        """Kill a node as `kill -9` does."""
        self._cluster.nodes[node].kill()

    def revive(self, node: str) -> None:
        """Start a node again, and wait until it serves."""
        self._cluster.nodes[node].start()
        self._cluster.nodes[node].ready()

    async def connect(self) -> None:
        """Connect to the leader, and to all nodes for `write`."""
        leader = await asyncio.to_thread(self.leader)
        self._leader = kv_pb2_grpc.KvServiceStub(self._channel(self._cluster.nodes[leader].address))
        self._client = connect(self._cluster.endpoints)
        self._writers = cycle(
            [
                kv_pb2_grpc.KvServiceStub(self._channel(node.address))
                for node in self._cluster.nodes.values()
            ]
        )
        self._writer = next(self._writers)
        for request in _batches():
            await self._leader.PutBatch(request, timeout=10)

    async def disconnect(self) -> None:
        """End the connections."""
        if self._client is not None:
            await self._client.close()
            self._client = None
        for each in self._channels:
            await each.close(None)
        self._channels.clear()

    def load(self, kind: str) -> Load | None:
        """Return a load of a kind, or None."""
        match kind:
            case "write":
                return calls(self._leader.Put, _puts())
            case "batch":
                return calls(self._leader.PutBatch, _batches(), pairs=BATCH)
            case "lanes":
                return self._lanes()
            case "read":
                requests = [kv_pb2.GetPairRequest(key=_key(at)) for at in range(KEYS)]
                return calls(self._leader.Get, requests)
            case "reads":
                many = [
                    kv_pb2.GetPairsRequest(
                        keys=[_key(at) for at in range(first, first + READS_A_CALL)]
                    )
                    for first in range(0, KEYS, READS_A_CALL)
                ]
                return calls(self._leader.GetBatch, many, pairs=READS_A_CALL)
        return None

    async def write(self) -> None:
        """Write one value through some node."""
        put = kv_pb2.PutPair(key=_key(0), value=values(1)[0])
        try:
            await self._writer.Put(put, timeout=ATTEMPT_S)
        except grpc.RpcError as error:
            self._writer = next(self._writers)
            raise AttemptFailedError from error

    def _channel(self, address: str) -> grpc.aio.Channel:
        self._channels.append(channel(address))
        return self._channels[-1]

    def _lanes(self) -> Load:
        if self._client is None:
            raise RuntimeError("connect() comes first")
        put, keys, written = self._client.kv.put, [_key(at) for at in range(KEYS)], values(KEYS)
        return closed_loop(lambda number: put(keys[number % KEYS], written[number % KEYS]))


def _puts() -> list[kv_pb2.PutPair]:
    return [kv_pb2.PutPair(key=_key(at), value=value) for at, value in enumerate(values(KEYS))]


def _batches() -> list[kv_pb2.PutPairs]:
    puts = _puts()
    return [kv_pb2.PutPairs(pairs=puts[first : first + BATCH]) for first in range(0, KEYS, BATCH)]


def _key(number: int) -> bytes:
    return b"peers.%06d" % number
