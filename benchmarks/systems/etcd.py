"""Three nodes of etcd."""

from __future__ import annotations

import os
import signal
from collections.abc import Collection
from contextlib import ExitStack
from itertools import cycle
from pathlib import Path
from typing import Any, Final

import grpc
import grpc.aio
from quorate.testing.ports import HeldPort
from quorate.testing.program import Program
from quorate.testing.waiting import until

from systems.askers import askers
from systems.closed_loop import calls, channel, closed_loop
from systems.etcd_messages import KV, MAINTENANCE, MESSAGES
from systems.system import (
    ATTEMPT_S,
    KEYS,
    NODES,
    OF_SESSIONS,
    READS_A_CALL,
    SESSION_BYTES,
    SESSIONS,
    AttemptFailedError,
    Load,
    MissingError,
    Took,
    values,
)
from tests.support.etcd import newest

#: The most operations that its default settings allow in a transaction.
BATCH: Final = 128
#: Of a comparison: with the revision that a key was created at.
_CREATED: Final = 1


class Etcd:
    """It runs with its default settings: 100 ms heartbeats, elections after 1,000 ms, fsync on."""

    name = "etcd"

    def __init__(self, directory: Path, kinds: Collection[str]) -> None:
        self.version = ""
        self._has_sessions: Final = not OF_SESSIONS.isdisjoint(kinds)
        self._directory: Final = directory
        self._exit: Final = ExitStack()
        self._programs: Final[dict[str, Program]] = {}
        self._addresses: Final[dict[str, str]] = {}
        self._peers: Final[dict[str, str]] = {}
        self._leader = ""
        self._channels: list[grpc.aio.Channel] = []
        self._calls: dict[str, Any] = {}
        self._writers: Any = None
        self._writer: Any = None

    def start(self) -> None:
        """Start the nodes, and wait until they serve."""
        if newest.program() is None:
            raise MissingError("there is no etcd here: install Go, or Debian's etcd-server")
        for name in NODES:
            client, peer = (self._exit.enter_context(HeldPort()) for _ in range(2))
            self._addresses[name], self._peers[name] = client.address, f"http://{peer.address}"
            self._programs[name] = Program(name, self._directory / f"{name}.log")
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

    async def connect(self) -> None:
        """Connect to the leader, and to all nodes for `write`."""
        leader = self._addresses[self.leader()]
        self._leader = leader
        led = self._channel(leader)
        for method in ("Put", "Range", "Txn"):
            self._calls[method] = _method(led, KV, method)
        self._writers = cycle(
            [_method(self._channel(address), KV, "Put") for address in self._addresses.values()]
        )
        self._writer = next(self._writers)
        for request in self._batches():
            await self._calls["Txn"](request, timeout=10)
        for request in _session_batches() if self._has_sessions else ():
            await self._calls["Txn"](request, timeout=10)

    async def disconnect(self) -> None:
        """End the connections."""
        for each in self._channels:
            await each.close(None)
        self._channels.clear()

    def load(self, kind: str) -> Load | None:
        """Return a load of a kind, or None."""
        match kind:
            case "write":
                return calls(self._calls["Put"], self._puts())
            case "batch":
                return calls(self._calls["Txn"], self._batches(), pairs=BATCH)
            case "read":
                requests = [MESSAGES["RangeRequest"](key=_key(at)) for at in range(KEYS)]
                return calls(self._calls["Range"], requests)
            case "writes of many":
                return askers(self._leader, f"{KV}Put", self._puts())
            case "reads of many":
                requests = [MESSAGES["RangeRequest"](key=_key(at)) for at in range(KEYS)]
                return askers(self._leader, f"{KV}Range", requests)
            case "reads":
                return calls(self._calls["Txn"], _ranges(), pairs=READS_A_CALL)
            case "sessions":
                return calls(self._calls["Txn"], _session_batches(), pairs=BATCH)
            case "conditional":
                return self._conditional()
        return None

    async def write(self) -> None:
        """Write one value through some node."""
        put = MESSAGES["PutRequest"](key=_key(0), value=values(1)[0])
        try:
            await self._writer(put, timeout=ATTEMPT_S)
        except grpc.RpcError as error:
            self._writer = next(self._writers)
            raise AttemptFailedError from error

    def _run(self, name: str) -> None:
        client, peer = f"http://{self._addresses[name]}", self._peers[name]
        members = ",".join(f"{each}={url}" for each, url in self._peers.items())
        self._programs[name].start(
            [
                str(newest.program()),
                *("--name", name),
                *("--data-dir", str(self._directory / name)),
                *("--listen-client-urls", client, "--advertise-client-urls", client),
                *("--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer),
                *("--initial-cluster", members, "--initial-cluster-token", "peers"),
                *("--log-level", "error"),
            ],
            {**os.environ},
        )

    def _status(self, name: str) -> Any:
        with grpc.insecure_channel(self._addresses[name]) as asked:
            try:
                told = _method(asked, MAINTENANCE, "Status")(MESSAGES["StatusRequest"](), timeout=1)
            except grpc.RpcError:
                return None
        return told if told.leader else None

    def _channel(self, address: str) -> grpc.aio.Channel:
        self._channels.append(channel(address))
        return self._channels[-1]

    def _conditional(self) -> Load:
        """Put each session only if it was created when it was, as a transaction of comparisons."""
        requests: list[Any] = []

        async def put(number: int) -> None:
            done = await self._calls["Txn"](requests[number % len(requests)], timeout=30)
            if not done.succeeded:
                raise RuntimeError("a session was created anew, which nobody did")

        async def run(in_flight: int, seconds: float) -> Took:
            if not requests:
                requests.extend([await self._compared(each) for each in _session_batches()])
            return await closed_loop(put).run(in_flight, seconds)

        return Load(run=run, pairs=BATCH)

    async def _compared(self, request: Any) -> Any:
        """Let a transaction be carried out only if its keys were created when they were."""
        for operation in request.success:
            key = operation.request_put.key
            found = await self._calls["Range"](MESSAGES["RangeRequest"](key=key), timeout=10)
            created = found.kvs[0].create_revision
            request.compare.add(target=_CREATED, key=key, create_revision=created)
        return request

    def _puts(self) -> list[Any]:
        put = MESSAGES["PutRequest"]
        return [put(key=_key(at), value=value) for at, value in enumerate(values(KEYS))]

    def _batches(self) -> list[Any]:
        puts = self._puts()
        operation, request = MESSAGES["RequestOp"], MESSAGES["TxnRequest"]
        return [
            request(success=[operation(request_put=put) for put in puts[first : first + BATCH]])
            for first in range(0, KEYS - BATCH + 1, BATCH)
        ]


def _session_batches() -> list[Any]:
    put, operation = MESSAGES["PutRequest"], MESSAGES["RequestOp"]
    puts = [
        operation(request_put=put(key=b"sessions/acme/client-%06d" % at, value=value))
        for at, value in enumerate(values(SESSIONS, SESSION_BYTES))
    ]
    return [
        MESSAGES["TxnRequest"](success=puts[first : first + BATCH])
        for first in range(0, SESSIONS - BATCH + 1, BATCH)
    ]


def _ranges() -> list[Any]:
    operation, one = MESSAGES["RequestOp"], MESSAGES["RangeRequest"]
    return [
        MESSAGES["TxnRequest"](
            success=[
                operation(request_range=one(key=_key(at)))
                for at in range(first, first + READS_A_CALL)
            ]
        )
        for first in range(0, KEYS, READS_A_CALL)
    ]


def _method(at: Any, service: str, method: str) -> Any:
    return at.unary_unary(
        service + method,
        request_serializer=lambda message: message.SerializeToString(),
        response_deserializer=MESSAGES[f"{method}Response"].FromString,
    )


def _key(number: int) -> bytes:
    return b"peers/%06d" % number
