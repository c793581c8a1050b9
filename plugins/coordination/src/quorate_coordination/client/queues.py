"""Queues of items: recipes over pairs and leases.

An item is free unless a pair claims it, and a claim counts only while the row of its taker exists.
That row goes with the lease of the taker, in the same shard: when the taker dies, all that it has
not finished is free again in that entry, and nothing has to tidy up.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from quorate.client import KeyValue, PrefixCache, RejectedError, blocking
from quorate.client.twins import Blocking, entering_twin
from quorate.v1.kv_pb2 import DeletePair, PutPair

from quorate_coordination.client.leases import TTL_S, LeaseLostError, RenewedLease, keeping

if TYPE_CHECKING:
    from quorate.client import AsyncClient

T = TypeVar("T")

_MISMATCH: Final = "REVISION_MISMATCH"
#: Numbers of items sort as texts.
_DIGITS: Final = 20
_PAGE: Final = 16


@dataclass(frozen=True, slots=True)
class Taken:
    """An item of a taker, until it is done or the taker ends."""

    number: bytes
    value: bytes
    #: The revision of the claim.
    revision: int


@dataclass(frozen=True, slots=True)
class _Free:
    """An item that nobody has, with the revisions of the pairs that say so."""

    item: KeyValue
    claim: bytes
    expected: dict[bytes, int]


class Queue:
    """A queue of items, in the order of the puts.

    `take` removes an item at once. Through a `taker` it is removed when its work is done, and comes
    back to the others if the program dies before.
    """

    def __init__(self, q: AsyncClient, name: str) -> None:
        self._q: Final = q
        self._name: Final = name
        self._last: Final = f"{name}/last"
        self._items: Final = f"{name}/items/".encode()
        self._claims: Final = f"{name}/claims/".encode()
        self._takers: Final = f"{name}/takers/".encode()

    async def put(self, item: str | bytes) -> None:
        """Add an item at the end."""

        async def put() -> None:
            last = await self._q.kv.get(self._last)
            number = b"%d" % (1 if last is None else int(last.value) + 1)
            await self._q.kv.commit(
                [(self._last, number), (self._items + number.zfill(_DIGITS), item)],
                expected={self._last: 0 if last is None else last.revision},
            )

        await undisturbed(put)

    async def take(self) -> bytes:
        """Remove the first item that no taker has; wait for one while there is none."""

        async def take() -> bytes:
            while (free := await self._free()) is None:
                await self._freed()
            await self._q.kv.commit(
                [DeletePair(key=free.item.key), DeletePair(key=free.claim)], expected=free.expected
            )
            return free.item.value

        return await undisturbed(take)

    @asynccontextmanager
    async def taker(self, *, ttl_s: float = TTL_S) -> AsyncIterator[Taker]:
        """Take items and say when each is done; what is not done by the end comes back."""
        async with keeping(self._q, self._name, ttl_s=ttl_s, owner="a taker") as lease:
            row = self._takers + lease.name.rpartition("/")[2].encode()
            await lease.put(row, b"")
            there = await self._q.kv.get(row)
            if there is None:
                raise LeaseLostError(f"lease {lease.name} ended before its taker had begun")
            yield Taker(self._q, self, lease, there)

    async def size(self) -> int:
        """Return the number of items, those that takers have included."""
        return sum([1 async for _ in self._q.kv.list(self._items, keys_only=True)])

    async def _free(self, mine: bytes = b"", given: Collection[bytes] = ()) -> _Free | None:
        """Return the first free item; one that is `mine` and was not `given` to me counts."""
        # The lists are views of different moments: the commit compares what they said.
        claims = {each.key: each async for each in self._q.kv.list(self._claims)}
        takers = {each.key async for each in self._q.kv.list(self._takers, keys_only=True)}
        async with aclosing(self._q.kv.list(self._items, page_size=_PAGE)) as items:
            async for item in items:
                number = item.key.removeprefix(self._items)
                key = self._claims + number
                claim = claims.get(key)
                expected = {item.key: item.revision, key: claim.revision if claim else 0}
                if claim is not None and claim.value not in takers:
                    expected[claim.value] = 0
                elif claim is not None and (claim.value != mine or number in given):
                    continue
                return _Free(item, key, expected)
        return None

    async def _freed(self, mine: bytes = b"") -> None:
        """Return once an item has no claim, a claim has no taker, or the taker `mine` is gone."""
        async with self._q.kv.following(f"{self._name}/") as rows:
            await rows.until(lambda _: self._has_free(rows) or (mine != b"" and mine not in rows))

    def _has_free(self, rows: PrefixCache) -> bool:
        claims = (
            rows.get(self._claims + key.removeprefix(self._items))
            for key in rows
            if key.startswith(self._items)
        )
        return any(taker is None or taker not in rows for taker in claims)


class Taker:
    """A program that takes items of a queue, for as long as its lease lasts.

    When the lease is lost, its items are given to others: each is done once if that is not so, and
    at least once otherwise.
    """

    def __init__(self, q: AsyncClient, queue: Queue, lease: RenewedLease, row: KeyValue) -> None:
        self._q: Final = q
        self._queue: Final = queue
        self._lease: Final = lease
        self._row: Final = row
        self._given: Final[set[bytes]] = set()

    @property
    def lost(self) -> bool:
        """Whether others may be given the items that this one has."""
        return self._lease.lost

    async def take(self, *, wait_s: float | None = None) -> Taken:
        """Claim the first free item; raises `TimeoutError` if there is none for `wait_s`."""
        async with asyncio.timeout(wait_s):
            return await undisturbed(self._take)

    async def done(self, taken: Taken) -> None:
        """Remove an item; raises `LeaseLostError` if it was given to another taker meanwhile."""
        item, claim = self._queue._items + taken.number, self._queue._claims + taken.number
        try:
            await self._q.kv.commit(
                [DeletePair(key=item), DeletePair(key=claim)], expected={claim: taken.revision}
            )
        except RejectedError as error:
            if error.code != _MISMATCH:
                raise
            # Nobody else takes the claim of a taker that is there: an earlier call has done it.
            if not await self._is_there():
                raise LeaseLostError(
                    f"lease {self._lease.name} was lost, and item {int(taken.number)} was given to"
                    " another taker"
                ) from None
        self._given.discard(taken.number)

    async def _take(self) -> Taken:
        mine = self._row.key
        while (free := await self._queue._free(mine, self._given)) is None:
            if not await self._is_there():
                raise LeaseLostError(f"lease {self._lease.name} has ended")
            await self._queue._freed(mine)
        self._lease.check()
        try:
            revision = await self._q.kv.commit(
                [PutPair(key=free.claim, value=mine)],
                expected=free.expected | {mine: self._row.revision},
            )
        except RejectedError as error:
            if error.code == _MISMATCH and not await self._is_there():
                raise LeaseLostError(f"lease {self._lease.name} has ended") from None
            raise
        number = free.claim.removeprefix(self._queue._claims)
        self._given.add(number)
        return Taken(number, free.item.value, revision)

    async def _is_there(self) -> bool:
        row = await self._q.kv.get(self._row.key)
        return row is not None and row.revision == self._row.revision


class SyncTaker(Blocking[Taker]):
    """A taker, for code that does not await."""

    @property
    def lost(self) -> bool:
        """Whether others may be given the items that this one has."""
        return self.asynchronous.lost

    take = blocking(Taker.take)
    done = blocking(Taker.done)


class SyncQueue(Blocking[Queue]):
    """A queue, for code that does not await."""

    put = blocking(Queue.put)
    take = blocking(Queue.take)
    size = blocking(Queue.size)
    taker = entering_twin(Queue.taker, SyncTaker)


async def undisturbed(change: Callable[[], Awaitable[T]]) -> T:
    """Retry a change until no other program changed the same pairs meanwhile."""
    while True:
        try:
            return await change()
        except RejectedError as error:
            if error.code != _MISMATCH:
                raise
