"""Three nodes of Quorate."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from contextlib import AsyncExitStack
from itertools import cycle
from pathlib import Path
from typing import Any, Final

import grpc
import grpc.aio
from google.protobuf.message import Message
from quorate.client import AsyncClient, connect
from quorate.plugin.advanced import Stub
from quorate.testing.cluster import Cluster
from quorate.v1 import kv_pb2
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.tenant_pb2 import CreateTenant, Tenant
from quorate_mqtt.client import Mqtt
from quorate_mqtt.v1 import sessions_pb2

from systems.askers import askers
from systems.closed_loop import calls, channel, closed_loop, in_turn
from systems.processes import Served
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

BATCH: Final = 1_000
_KV: Final = kv_pb2.DESCRIPTOR.services_by_name["KvService"]
_TENANT: Final = "acme"
_BROKER: Final = "broker-1"
#: Of the row of a session, beside the payload.
_ROW_BYTES: Final = 62


class Quorate(Served):
    """`quorate serve` with its default settings: heartbeats of 100 ms, elections from 500 ms on.

    The plugin `mqtt` is enabled only when sessions are asked for.
    """

    name = "Quorate"
    #: Whether all connections are encrypted, and all callers show certificates.
    encrypted = False
    #: What serves calls.
    engine = "http2"

    def __init__(self, directory: Path, kinds: Collection[str]) -> None:
        super().__init__()
        self._has_sessions: Final = not OF_SESSIONS.isdisjoint(kinds)
        plugins = ["mqtt"] if self._has_sessions else []
        settings = {"rpc": {"engine": self.engine}}
        self._cluster = Cluster(
            directory, plugins=plugins, settings=settings, tls=self.encrypted, forked=False
        )
        self._connected: Final = AsyncExitStack()
        self._sessions: Any = None
        self._epoch = 0
        self._client: AsyncClient | None = None
        self._address = ""
        self._leader: Any = None
        self._nodes: Any = None
        self._asked: Any = None

    def start(self) -> None:
        """Start the nodes, and wait until they serve."""
        self._exit.enter_context(self._cluster).ready()
        if self.encrypted:
            self._cluster.ask_callers()

    async def connect(self) -> None:
        """Connect to the leader, and to all nodes for `write`."""
        leader = await asyncio.to_thread(self.leader)
        self._address = self._cluster.nodes[leader].address
        self._leader = await self._stub(self._address, _KV)
        client = connect(self._cluster.endpoints, tls=self._cluster.tls)
        self._client = await self._connected.enter_async_context(client)
        nodes = self._cluster.nodes.values()
        self._nodes = cycle([await self._stub(node.address, _KV) for node in nodes])
        self._asked = next(self._nodes)
        for request in _batches():
            await self._leader.PutBatch(request, timeout=10)
        if self._has_sessions:
            await self._register(self._client)

    async def disconnect(self) -> None:
        """End the connections."""
        await self._connected.aclose()
        self._client = None

    def load(self, kind: str) -> Load | None:
        """Return a load of a kind, or None."""
        match kind:
            case "write":
                return calls(self._leader.Put, _puts())
            case "batch":
                return calls(self._leader.PutBatch, _batches(), pairs=BATCH)
            case "lanes":
                return self._lanes()
            case "read" | "read of all":
                of_all = in_turn(self._nodes, "Get")
                return calls(self._leader.Get if kind == "read" else of_all, _gets())
            case "writes of many" if not self.encrypted:
                return askers(self._address, "/quorate.v1.KvService/Put", _puts())
            case "reads of many" if not self.encrypted:
                return askers(self._address, "/quorate.v1.KvService/Get", _gets())
            case "reads" | "reads of all":
                keys = batches([_key(at) for at in range(KEYS)], READS_A_CALL)
                many = [kv_pb2.GetPairsRequest(keys=some) for some in keys]
                of_all = in_turn(self._nodes, "GetBatch")
                return calls(
                    self._leader.GetBatch if kind == "reads" else of_all, many, pairs=READS_A_CALL
                )
            case "sessions":
                connects = self._connects()
                return closed_loop(
                    lambda number: _carried_out(self._sessions.ConnectBatch, connects, number),
                    pairs=BATCH,
                )
            case "conditional":
                return self._conditional()
        return None

    async def write(self) -> None:
        """Write one value through some node."""
        put = kv_pb2.PutPair(key=_key(0), value=values(1)[0])
        try:
            await self._asked.Put(put, timeout=ATTEMPT_S)
        except grpc.RpcError as error:
            self._asked = next(self._nodes)
            raise AttemptFailedError from error

    async def _register(self, client: AsyncClient) -> None:
        """Connect to the leader of the sessions, and connect each of them through a broker."""
        leader = await asyncio.to_thread(self._cluster.leader, "mqtt/0")
        service = sessions_pb2.DESCRIPTOR.services_by_name["SessionService"]
        self._sessions = await self._stub(leader.address, service)
        await client.execute(CreateTenant(name=_TENANT), Tenant)
        registering = client.brokers.registered(_BROKER, "peers", roles=["mqtt"])
        registration = await self._connected.enter_async_context(registering)
        self._epoch = registration.broker.epoch
        sessions = Mqtt(client).sessions
        for request in self._connects():
            # It waits until the shard knows the broker.
            reply = await sessions.connect_many(_BROKER, self._epoch, request.connections)
            _check(reply)

    def _connects(self) -> list[sessions_pb2.ConnectSessions]:
        connections = [
            sessions_pb2.SessionConnect(
                tenant=_TENANT,
                client_id=_client(at),
                connection_id=at + 1,
                expiry_interval_s=3_600,
                payload=payload,
            )
            for at, payload in enumerate(_payloads())
        ]
        return [
            sessions_pb2.ConnectSessions(broker=_BROKER, broker_epoch=self._epoch, connections=some)
            for some in batches(connections, BATCH)
        ]

    def _conditional(self) -> Load:
        """Replace what each session holds, if the connection is the one that has it."""
        requests: list[sessions_pb2.UpdateSessions] = []

        async def run(in_flight: int, seconds: float) -> Took:
            if not requests:
                requests.extend([await self._updates(each) for each in self._connects()])
            updating = closed_loop(
                lambda number: _carried_out(self._sessions.UpdateBatch, requests, number)
            )
            return await updating.run(in_flight, seconds)

        return Load(run=run, pairs=BATCH)

    async def _updates(self, request: sessions_pb2.ConnectSessions) -> sessions_pb2.UpdateSessions:
        reply = await self._sessions.ConnectBatch(request, timeout=10)
        _check(reply)
        answers = map(sessions_pb2.ConnectReply.FromString, reply.replies)
        return sessions_pb2.UpdateSessions(
            sessions=[
                sessions_pb2.UpdateSession(
                    tenant=each.tenant,
                    client_id=each.client_id,
                    generation=answer.generation,
                    payload=each.payload,
                )
                for each, answer in zip(request.connections, answers, strict=True)
            ]
        )

    async def _stub(self, address: str, service: Any) -> Any:
        tls = self._cluster.tls
        opened = channel(address, None if tls is None else tls.credentials())
        return Stub(await self._connected.enter_async_context(opened), service)

    def _lanes(self) -> Load:
        if self._client is None:
            raise RuntimeError("connect() comes first")
        put, keys, written = self._client.kv.put, [_key(at) for at in range(KEYS)], values(KEYS)
        return closed_loop(lambda number: put(keys[number % KEYS], written[number % KEYS]))


class EncryptedQuorate(Quorate):
    """The same with mutual TLS between nodes and with clients, whose rights are asked for."""

    name = "Quorate with TLS and roles"
    encrypted = True


class GrpcioQuorate(Quorate):
    """The same served by grpcio."""

    name = "Quorate on grpcio"
    engine = "grpcio"


async def _carried_out(method: Any, requests: Sequence[Message], number: int) -> None:
    _check(await method(requests[number % len(requests)], timeout=30))


def _check(reply: BatchReply) -> None:
    if reply.refusals:
        raise RuntimeError(f"sessions were refused; the first: {reply.refusals[0]}")


def _client(number: int) -> str:
    return f"client-{number:06}"


def _payloads() -> list[bytes]:
    """Return what rows hold that have as many bytes as those of the peers."""
    return values(SESSIONS, SESSION_BYTES - _ROW_BYTES)


def _puts() -> list[kv_pb2.PutPair]:
    return [kv_pb2.PutPair(key=_key(at), value=value) for at, value in enumerate(values(KEYS))]


def _gets() -> list[kv_pb2.GetPairRequest]:
    return [kv_pb2.GetPairRequest(key=_key(at)) for at in range(KEYS)]


def _batches() -> list[kv_pb2.PutPairs]:
    return [kv_pb2.PutPairs(pairs=some) for some in batches(_puts(), BATCH)]


def _key(number: int) -> bytes:
    return b"peers.%06d" % number
