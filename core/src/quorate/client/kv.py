"""Pairs: keys and values of the domain `kv`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypedDict, TypeVar, Unpack

from google.protobuf.message import Message

from quorate.client.errors import InvalidError
from quorate.client.fencing import Fencing
from quorate.client.following import PrefixCache, SyncPrefixCache, following
from quorate.client.twins import Blocking, blocking, entering_twin, iterating
from quorate.client.values import Readable, Text, as_bytes, check_whole
from quorate.client.vocabulary import parts_of
from quorate.plugin.batches import in_parts
from quorate.v1 import kv_pb2 as pb
from quorate.v1.batch_pb2 import BatchReply

if TYPE_CHECKING:
    from quorate.client.asynchronous import AsyncClient

#: A key; a text stands for its UTF-8.
Key = Text
#: A value; a text stands for its UTF-8.
Value = Text
#: A step of a transaction; a key with a value is a pair to write.
Operation = pb.PutPair | pb.DeletePair | pb.TouchPair | tuple[Key, Value]

M = TypeVar("M", bound=Message)

#: The group of the pairs.
GROUP: Final = "metadata"
#: The most that one read asks for.
_MOST: Final = 1_000

_SERVICE: Final = "/quorate.v1.KvService/"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyValue(Readable):
    """A pair as it was read."""

    key: bytes
    #: Empty when only keys were asked for.
    value: bytes
    #: That of the command that wrote the value.
    revision: int
    created_revision: int
    #: Zero: it does not expire.
    ttl_ms: int
    #: How old this may be; 0 unless a stale read was asked for, and -1 when that is not known.
    age_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Some pairs in the order of their keys."""

    pairs: tuple[KeyValue, ...]
    #: Gets the next page; empty after the last one.
    next_page_token: bytes
    age_ms: int = 0


class Conditions(TypedDict, total=False):
    """Which pairs a list yields, and how."""

    #: From this key on, and before that one.
    start: Key
    end: Key
    keys_only: bool
    page_size: int
    stale: bool
    min_revision: int
    timeout_s: float | None


class Kv:
    """Reads and writes pairs. Reads are linearizable unless they are allowed to be stale.

    A write with a `fence` is refused with FENCED once its shard knows a newer token of that name.
    """

    def __init__(self, q: AsyncClient) -> None:
        self._q: Final = q

    # Writes.

    async def put(
        self,
        key: Key,
        value: Value,
        *,
        ttl_ms: int = 0,
        expected_revision: int | None = None,
        fence: Fencing | None = None,
        timeout_s: float | None = None,
    ) -> pb.PutPairReply:
        """Write a pair; return its revision, and whether it is new.

        With `expected_revision` it is refused with REVISION_MISMATCH unless the pair has that
        revision; 0: unless there is none.
        """
        check_whole(ttl_ms=ttl_ms, expected_revision=expected_revision)
        command = pb.PutPair(
            key=_bytes(key),
            value=as_bytes("value", value),
            ttl_ms=ttl_ms,
            expected_revision=expected_revision,
        )
        return await self._q.execute(command, pb.PutPairReply, fence=fence, timeout_s=timeout_s)

    async def delete(
        self,
        key: Key,
        *,
        expected_revision: int | None = None,
        fence: Fencing | None = None,
        timeout_s: float | None = None,
    ) -> bool:
        """Delete a pair; return whether there was one."""
        check_whole(expected_revision=expected_revision)
        command = pb.DeletePair(key=_bytes(key), expected_revision=expected_revision)
        return (
            await self._q.execute(command, pb.DeletePairReply, fence=fence, timeout_s=timeout_s)
        ).deleted

    async def touch(
        self,
        key: Key,
        *,
        expected_revision: int | None = None,
        fence: Fencing | None = None,
        timeout_s: float | None = None,
    ) -> int:
        """Start a pair's time to live anew; return when it ends, in the shard's logical time."""
        check_whole(expected_revision=expected_revision)
        command = pb.TouchPair(key=_bytes(key), expected_revision=expected_revision)
        return (
            await self._q.execute(command, pb.TouchPairReply, fence=fence, timeout_s=timeout_s)
        ).expires_at_ms

    async def commit(
        self,
        operations: Sequence[Operation],
        *,
        expected: Mapping[str, int] | Mapping[bytes, int] | None = None,
        fence: Fencing | None = None,
        timeout_s: float | None = None,
    ) -> int:
        """Apply all operations or none, and return the revision of the written pairs.

        A key with a value, `("jobs/1", "open")`, stands for the `PutPair` of them. `expected`
        has the required revisions of pairs; 0: the pair must be absent. All keys share the part
        before their first `/`.
        """
        command = pb.CommitPairs(
            comparisons=[
                pb.PairComparison(key=as_bytes("expected", key), expected_revision=revision)
                for key, revision in (expected or {}).items()
            ],
            operations=[_operation(position, each) for position, each in enumerate(operations)],
        )
        return (
            await self._q.execute(command, pb.CommitPairsReply, fence=fence, timeout_s=timeout_s)
        ).revision

    async def put_many(
        self,
        pairs: Mapping[str, Value]
        | Mapping[bytes, Value]
        | Iterable[pb.PutPair | tuple[Key, Value]],
        *,
        ttl_ms: int = 0,
        fence: Fencing | None = None,
        timeout_s: float | None = None,
    ) -> BatchReply:
        """Write many pairs; the reply lists refused pairs by position.

        Pairs in the same command to a shard are written together; others one after the other.
        `ttl_ms` is that of pairs given as a mapping, or as a key and a value.
        """
        given = pairs.items() if isinstance(pairs, Mapping) else pairs
        check_whole(ttl_ms=ttl_ms)
        puts = (
            each if isinstance(each, pb.PutPair) else _put(f"pairs[{position}]", each, ttl_ms)
            for position, each in enumerate(given)
        )
        batches = [pb.PutPairs(pairs=part) for part in parts_of(puts)]
        return await self._q.execute_all(batches, fence=fence, timeout_s=timeout_s)

    async def delete_many(
        self,
        keys: Iterable[Key],
        *,
        fence: Fencing | None = None,
        timeout_s: float | None = None,
    ) -> BatchReply:
        """Delete many pairs; each reply in the reply is a `DeletePairReply`."""
        parts = parts_of(pb.DeletePair(key=_bytes(key)) for key in keys)
        batches = [pb.DeletePairs(pairs=part) for part in parts]
        return await self._q.execute_all(batches, fence=fence, timeout_s=timeout_s)

    # Reads.

    async def get(
        self,
        key: Key,
        *,
        stale: bool = False,
        min_revision: int = 0,
        timeout_s: float | None = None,
    ) -> KeyValue | None:
        """Return a pair; None if it does not exist."""
        request = pb.GetPairRequest(key=_bytes(key), stale=stale, min_revision=min_revision)
        response = await self._read("Get", request, pb.GetPairResponse, request.key, timeout_s)
        return _found(response, response.age_ms)

    async def exists(
        self,
        key: Key,
        *,
        stale: bool = False,
        min_revision: int = 0,
        timeout_s: float | None = None,
    ) -> bool:
        """Return whether there is a pair."""
        request = pb.GetPairRequest(key=_bytes(key), stale=stale, min_revision=min_revision)
        response = await self._read(
            "Exists", request, pb.ExistsPairResponse, request.key, timeout_s
        )
        return response.exists

    async def get_many(
        self,
        keys: Iterable[Key],
        *,
        stale: bool = False,
        min_revision: int = 0,
        timeout_s: float | None = None,
    ) -> list[KeyValue | None]:
        """Return the pairs of keys in their order; None for each that there is not."""
        wanted = [_bytes(key) for key in keys]
        found: list[KeyValue | None] = []
        for part in in_parts(wanted, _MOST):
            request = pb.GetPairsRequest(keys=part, stale=stale, min_revision=min_revision)
            response = await self._read(
                "GetBatch", request, pb.GetPairsResponse, part[0], timeout_s
            )
            found += [_found(each, response.age_ms) for each in response.responses]
        return found

    async def list(
        self, prefix: Key = b"", **conditions: Unpack[Conditions]
    ) -> AsyncGenerator[KeyValue, None]:
        """Yield the pairs with a prefix that meet `conditions`, in the order of their keys."""
        async for page in self.scan(prefix, **conditions):
            for pair in page.pairs:
                yield pair

    async def scan(
        self, prefix: Key = b"", *, page_token: bytes = b"", **conditions: Unpack[Conditions]
    ) -> AsyncGenerator[Page, None]:
        """Yield the same page by page; each page is a view of its own, and has `timeout_s`."""
        request = pb.ListPairsRequest(
            prefix=_bytes(prefix),
            start=_bytes(conditions.get("start", b"")),
            end=_bytes(conditions.get("end", b"")),
            page_size=conditions.get("page_size", 0),
            page_token=page_token,
            keys_only=conditions.get("keys_only", False),
            stale=conditions.get("stale", False),
            min_revision=conditions.get("min_revision", 0),
        )
        timeout_s = conditions.get("timeout_s")
        while True:
            response = await self._read(
                "List", request, pb.ListPairsResponse, request.prefix or request.start, timeout_s
            )
            age_ms = response.age_ms
            yield Page(
                pairs=tuple(_pair(each, age_ms) for each in response.pairs),
                next_page_token=response.next_page_token,
                age_ms=age_ms,
            )
            if not response.next_page_token:
                return
            request.page_token = response.next_page_token

    def following(self, prefix: Key) -> AbstractAsyncContextManager[PrefixCache]:
        """Keep a cache of the pairs with a prefix: a mapping that is read without a call."""
        return following(self._q, prefix)

    def _read(
        self, method: str, request: Message, response: type[M], key: bytes, timeout_s: float | None
    ) -> Awaitable[M]:
        return self._q.call(
            _SERVICE + method,
            request,
            response,
            group=GROUP,
            shard_key=key.partition(b"/")[0],
            read=True,
            timeout_s=timeout_s,
        )


class SyncKv(Blocking[Kv]):
    """The same, without `await`."""

    put = blocking(Kv.put)
    delete = blocking(Kv.delete)
    touch = blocking(Kv.touch)
    commit = blocking(Kv.commit)
    put_many = blocking(Kv.put_many)
    delete_many = blocking(Kv.delete_many)
    get = blocking(Kv.get)
    exists = blocking(Kv.exists)
    get_many = blocking(Kv.get_many)
    list = iterating(Kv.list)
    scan = iterating(Kv.scan)
    following = entering_twin(Kv.following, SyncPrefixCache)


def _bytes(key: Key) -> bytes:
    return as_bytes("key", key)


def _put(field: str, pair: object, ttl_ms: int = 0) -> pb.PutPair:
    if not isinstance(pair, tuple) or len(pair) != 2:
        raise InvalidError(field, f"must be a key and its value, not {pair!r:.60}")
    key, value = pair
    return pb.PutPair(
        key=as_bytes(f"{field}.key", key), value=as_bytes(f"{field}.value", value), ttl_ms=ttl_ms
    )


def _operation(position: int, step: Operation) -> pb.PairOperation:
    match step:
        case pb.DeletePair():
            return pb.PairOperation(delete=step)
        case pb.TouchPair():
            return pb.PairOperation(touch=step)
        case pb.PutPair():
            return pb.PairOperation(put=step)
        case _:
            return pb.PairOperation(put=_put(f"operations[{position}]", step))


def _found(response: pb.GetPairResponse, age_ms: int) -> KeyValue | None:
    return _pair(response.pair, age_ms) if response.HasField("pair") else None


def _pair(pair: pb.KeyedPair, age_ms: int) -> KeyValue:
    return KeyValue(
        key=pair.key,
        value=pair.value,
        revision=pair.revision,
        created_revision=pair.created_revision,
        ttl_ms=pair.ttl_ms,
        age_ms=age_ms,
    )
