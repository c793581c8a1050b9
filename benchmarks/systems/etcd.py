"""The loads of etcd's clients, on whatever serves them."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from contextlib import AsyncExitStack
from itertools import cycle
from typing import Any, Final

import grpc
import grpc.aio
from quorate.plugin.advanced import Stub
from quorate_etcd.wire import rpc_pb2 as rpc

from systems.askers import askers
from systems.closed_loop import calls, channel, closed_loop, in_turn
from systems.etcd_nodes import ClientNodes
from systems.system import (
    ATTEMPT_S,
    KEYS,
    OF_SESSIONS,
    READS_A_CALL,
    SESSION_BYTES,
    SESSIONS,
    AttemptFailedError,
    Load,
    Took,
    batches,
    values,
)

_KV: Final = rpc.DESCRIPTOR.services_by_name["KV"]
#: The most operations that its default settings allow in a transaction.
BATCH: Final = 128
#: Operations of a small transaction.
SMALL: Final = 4


class Etcd:
    """Nodes with etcd's API, and their clients."""

    def __init__(self, nodes: ClientNodes, kinds: Collection[str]) -> None:
        self.nodes: Final = nodes
        self.name = nodes.name
        self.version = ""
        self.close: Final = nodes.close
        self.pids: Final = nodes.pids
        self.leader: Final = nodes.leader
        self.kill: Final = nodes.kill
        self.revive: Final = nodes.revive
        self._has_sessions: Final = not OF_SESSIONS.isdisjoint(kinds)
        self._leader = ""
        self._channels: Final = AsyncExitStack()
        self._kv: Any = None
        self._nodes: Any = None
        self._asked: Any = None

    def start(self) -> None:
        """Start the nodes, and wait until they serve."""
        self.nodes.start()
        self.version = self.nodes.version

    async def connect(self) -> None:
        """Connect to the leader, and to all nodes for `write`."""
        leader = self.nodes.addresses[await asyncio.to_thread(self.leader)]
        self._leader = leader
        self._kv, *others = [
            Stub(await self._channels.enter_async_context(channel(address)), _KV)
            for address in (leader, *self.nodes.addresses.values())
        ]
        self._nodes = cycle(others)
        self._asked = next(self._nodes)
        for request in self._batches(BATCH):
            await self._kv.Txn(request, timeout=30)
        for request in _session_batches() if self._has_sessions else ():
            await self._kv.Txn(request, timeout=30)

    async def disconnect(self) -> None:
        """End the connections."""
        await self._channels.aclose()

    def load(self, kind: str) -> Load | None:
        """Return a load of a kind, or None."""
        match kind:
            case "write":
                return calls(self._kv.Put, self._puts())
            case "batch":
                return calls(self._kv.Txn, self._batches(BATCH), pairs=BATCH)
            case "small":
                return calls(self._kv.Txn, self._batches(SMALL))
            case "read" | "read of all":
                of_all = in_turn(self._nodes, "Range")
                return calls(self._kv.Range if kind == "read" else of_all, _gets())
            case "writes of many":
                return askers(self._leader, "/etcdserverpb.KV/Put", self._puts())
            case "reads of many":
                return askers(self._leader, "/etcdserverpb.KV/Range", _gets())
            case "reads" | "reads of all":
                of_all = in_turn(self._nodes, "Txn")
                asked = self._kv.Txn if kind == "reads" else of_all
                return calls(asked, _ranges(), pairs=READS_A_CALL)
            case "sessions":
                return calls(self._kv.Txn, _session_batches(), pairs=BATCH)
            case "conditional":
                return self._conditional()
        return None

    async def write(self) -> None:
        """Write one value through some node."""
        put = rpc.PutRequest(key=_key(0), value=values(1)[0])
        try:
            await self._asked.Put(put, timeout=ATTEMPT_S)
        except grpc.RpcError as error:
            self._asked = next(self._nodes)
            raise AttemptFailedError from error

    def _conditional(self) -> Load:
        """Put each session only if it was created when it was, as a transaction of comparisons."""
        requests: list[rpc.TxnRequest] = []

        async def put(number: int) -> None:
            done = await self._kv.Txn(requests[number % len(requests)], timeout=30)
            if not done.succeeded:
                raise RuntimeError("a session was created anew, which nobody did")

        async def run(in_flight: int, seconds: float) -> Took:
            if not requests:
                requests.extend([await self._compared(each) for each in _session_batches()])
            return await closed_loop(put).run(in_flight, seconds)

        return Load(run=run, pairs=BATCH)

    async def _compared(self, request: rpc.TxnRequest) -> rpc.TxnRequest:
        """Let a transaction be carried out only if its keys were created when they were."""
        for operation in request.success:
            key = operation.request_put.key
            found = await self._kv.Range(rpc.RangeRequest(key=key), timeout=30)
            created = found.kvs[0].create_revision
            request.compare.add(target=rpc.Compare.CREATE, key=key, create_revision=created)
        return request

    def _puts(self) -> list[rpc.PutRequest]:
        return [rpc.PutRequest(key=_key(at), value=value) for at, value in enumerate(values(KEYS))]

    def _batches(self, size: int) -> list[rpc.TxnRequest]:
        puts = [rpc.RequestOp(request_put=put) for put in self._puts()]
        return [rpc.TxnRequest(success=some) for some in batches(puts, size)]


def _session_batches() -> list[rpc.TxnRequest]:
    puts = [
        rpc.RequestOp(
            request_put=rpc.PutRequest(key=b"sessions/acme/client-%06d" % at, value=value)
        )
        for at, value in enumerate(values(SESSIONS, SESSION_BYTES))
    ]
    return [rpc.TxnRequest(success=some) for some in batches(puts, BATCH)]


def _gets() -> list[rpc.RangeRequest]:
    return [rpc.RangeRequest(key=_key(at)) for at in range(KEYS)]


def _ranges() -> list[rpc.TxnRequest]:
    gets = [rpc.RequestOp(request_range=each) for each in _gets()]
    return [rpc.TxnRequest(success=some) for some in batches(gets, READS_A_CALL)]


def _key(number: int) -> bytes:
    return b"peers/%06d" % number
