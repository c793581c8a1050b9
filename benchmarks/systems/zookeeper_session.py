"""The load on ZooKeeper, by kazoo."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from queue import SimpleQueue
from struct import Struct
from typing import Any, Final

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.protocol.serialization import GetData, MultiHeader, SetData, Sync, Transaction
from kazoo.retry import KazooRetry

from systems.system import (
    ATTEMPT_S,
    KEYS,
    READS_A_CALL,
    SESSION_BYTES,
    SESSIONS,
    AttemptFailedError,
    Load,
    Took,
    batches,
    values,
)

#: As many as etcd's.
BATCH: Final = 128
_ROOT: Final = "/peers"
_SESSIONS: Final = "/sessions"
_VERSION: Final = Struct(">i")
#: What stands in front of each operation of a transaction.
_HEAD_BYTES: Final = len(MultiHeader(SetData.type, False, -1).serialize())

# Each attempt to reach the node that was killed would be told.
logging.getLogger("kazoo").setLevel(logging.CRITICAL)


class Session:
    """A connection to the leader for loads, and one to any node for the writer."""

    def __init__(self, leader: str, nodes: str, *, has_sessions: bool) -> None:
        self._leader: Final = KazooClient(leader)
        again = KazooRetry(max_tries=-1, delay=0.05, backoff=1, max_jitter=0.1)
        self._writer: Final = KazooClient(nodes, connection_retry=again)
        for client in (self._leader, self._writer):
            client.start()
        self._make(_ROOT, values(KEYS))
        if has_sessions:
            self._make(_SESSIONS, values(SESSIONS, SESSION_BYTES))

    def _make(self, root: str, contents: Sequence[bytes]) -> None:
        if self._leader.exists(_path(len(contents) - 1, root)) is not None:
            return
        self._leader.ensure_path(root)
        for first in range(0, len(contents), BATCH):
            created = self._leader.transaction()
            for at, content in enumerate(contents[first : first + BATCH], first):
                created.create(_path(at, root), content)
            created.commit()

    def close(self) -> None:
        """End both connections."""
        for client in (self._leader, self._writer):
            client.stop()
            client.close()

    def load(self, kind: str) -> Load | None:
        """As in `System`."""
        paths = [_path(at) for at in range(KEYS)]
        match kind:
            case "write":
                return self._load([(each,) for each in _sets()])
            case "batch":
                multis = [(PreparedMulti(some),) for some in batches(_sets(), BATCH)]
                return self._load(multis, pairs=BATCH)
            case "read":
                return self._load([(Sync(path), GetData(path, None)) for path in paths])
            case "reads":
                many = [
                    (Sync(some[0]), *(GetData(path, None) for path in some))
                    for some in batches(paths, READS_A_CALL)
                ]
                return self._load(many, pairs=READS_A_CALL)
            case "sessions":
                multis = [(PreparedMulti(each),) for each in _session_sets()]
                return self._load(multis, pairs=BATCH)
            case "conditional":
                return self._load(
                    [(CountingMulti(each, self._version(each[0])),) for each in _session_sets()],
                    pairs=BATCH,
                )
        return None

    def _version(self, operation: Any) -> int:
        stat = self._leader.exists(operation.path)
        if stat is None:
            raise RuntimeError(f"there is no {operation.path}")
        return int(stat.version)

    async def write(self) -> None:
        """As in `System`."""
        answer = self._writer.set_async(_path(0), values(1)[0])
        try:
            await asyncio.to_thread(answer.get, True, ATTEMPT_S)
        except (KazooException, KazooTimeoutError) as error:
            await asyncio.sleep(0.01)
            raise AttemptFailedError from error

    def _load(self, calls: Sequence[Sequence[Any]], *, pairs: int = 1) -> Load:
        async def run(in_flight: int, seconds: float) -> Took:
            callers = Callers(self._leader, calls, in_flight, seconds)
            return await asyncio.to_thread(callers.run)

        return Load(run=run, pairs=pairs)


class PreparedMulti:
    """A transaction that was serialized beforehand, and of whose answer only the head is read."""

    type = Transaction.type

    def __init__(self, operations: Sequence[Any]) -> None:
        self._serialized: Final = bytes(Transaction(tuple(operations)).serialize())

    def serialize(self) -> bytes:
        """Return what kazoo sends."""
        return self._serialized

    def deserialize(self, answer: bytes, offset: int) -> list[object]:
        """Return nothing; raise what the transaction failed with."""
        header, _ = MultiHeader.deserialize(answer, offset)
        if header.type != SetData.type:
            raise KazooException(f"the transaction ended with {header}")
        return []


class CountingMulti(PreparedMulti):
    """The same, which demands of each row the version that the time before gave to it.

    A session's requests are carried out in the order in which they were sent.
    """

    def __init__(self, operations: Sequence[Any], version: int) -> None:
        super().__init__(operations)
        self._version = version
        self._parts: Final = bytearray(self._serialized)
        #: Where the versions stand: each at the end of its operation.
        self._places: Final[list[int]] = []
        end = 0
        for operation in operations:
            end += _HEAD_BYTES + len(operation.serialize())
            self._places.append(end - _VERSION.size)

    def serialize(self) -> bytes:
        """Return what kazoo sends, which it asks for once."""
        for place in self._places:
            _VERSION.pack_into(self._parts, place, self._version)
        self._version += 1
        return bytes(self._parts)


class Callers:
    """A number of callers that each send their next call when the one before is answered.

    kazoo's public calls answer through one more thread, so its `_call` is used. It waits while the
    connection has much to send, so calls are sent here and not where the answers are read.
    """

    def __init__(
        self, client: Any, calls: Sequence[Sequence[Any]], in_flight: int, seconds: float
    ) -> None:
        self._client: Final = client
        self._calls: Final = calls
        self._in_flight: Final = in_flight
        self._seconds: Final = seconds
        self._answers: Final[SimpleQueue[float | None]] = SimpleQueue()

    def run(self) -> Took:
        """Call until the time is over, and the last answer there."""
        latencies_s, failures = [], 0
        began = time.perf_counter()
        number, under_way = 0, 0
        while True:
            while under_way < self._in_flight and time.perf_counter() < began + self._seconds:
                self._send(self._calls[number % len(self._calls)])
                number, under_way = number + 1, under_way + 1
            if not under_way:
                break
            latency_s = self._answers.get(timeout=30)
            under_way -= 1
            if latency_s is None:
                failures += 1
            else:
                latencies_s.append(latency_s)
        took_s = time.perf_counter() - began
        return Took(seconds=took_s, latencies_s=latencies_s, failures=failures)

    def _send(self, call: Sequence[Any]) -> None:
        *before, last = call
        for request in before:
            self._client._call(request, Unheard())
        self._client._call(last, Heard(self._answers))


class Unheard:
    """Takes the answer of a request in the middle of a call."""

    def set(self, _answer: object) -> None:
        """Take it."""

    def set_exception(self, _error: Exception) -> None:
        """Take it."""


class Heard:
    """Takes the answer that ends a call; a session answers in order."""

    __slots__ = ("_answers", "_began")

    def __init__(self, answers: SimpleQueue[float | None]) -> None:
        self._answers: Final = answers
        self._began: Final = time.perf_counter()

    def set(self, _answer: object) -> None:
        """Tell how long it took."""
        self._answers.put(time.perf_counter() - self._began)

    def set_exception(self, _error: Exception) -> None:
        """Tell that it failed."""
        self._answers.put(None)


def _sets() -> list[Any]:
    return [SetData(_path(at), value, -1) for at, value in enumerate(values(KEYS))]


def _session_sets() -> list[Sequence[Any]]:
    sets = [
        SetData(_path(at, _SESSIONS), value, -1)
        for at, value in enumerate(values(SESSIONS, SESSION_BYTES))
    ]
    return batches(sets, BATCH)


def _path(number: int, root: str = _ROOT) -> str:
    return f"{root}/{number:06}"
