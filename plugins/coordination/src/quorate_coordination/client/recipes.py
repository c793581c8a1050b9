"""Counters, queues and barriers: recipes over pairs and leases."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Final, TypeVar

from quorate.client import ChangeKind, RejectedError, blocking
from quorate.client.twins import Blocking, entering
from quorate.v1.kv_pb2 import PutPair

from quorate_coordination.client.leases import TTL_S, keeping

if TYPE_CHECKING:
    from quorate.client import AsyncClient

T = TypeVar("T")

_MISMATCH: Final = "REVISION_MISMATCH"
#: Numbers of items sort as texts.
_DIGITS: Final = 20


class Counter:
    """A number in a pair, which many programs add to."""

    def __init__(self, q: AsyncClient, key: str) -> None:
        self._q: Final = q
        self._key: Final = key

    async def value(self) -> int:
        """Return the number; 0 if nothing was added yet."""
        pair = await self._q.kv.get(self._key)
        return 0 if pair is None else int(pair.value)

    async def add(self, more: int = 1) -> int:
        """Add to the number, and return the sum."""

        async def add() -> int:
            pair = await self._q.kv.get(self._key)
            value = more if pair is None else int(pair.value) + more
            revision = 0 if pair is None else pair.revision
            await self._q.kv.put(self._key, b"%d" % value, expected_revision=revision)
            return value

        return await _undisturbed(add)


class Queue:
    """A queue of items: each is taken by one program, in the order of the puts."""

    def __init__(self, q: AsyncClient, name: str) -> None:
        self._q: Final = q
        self._last: Final = f"{name}/last"
        self._items: Final = f"{name}/items/"

    async def put(self, item: bytes) -> None:
        """Add an item at the end."""

        async def put() -> None:
            last = await self._q.kv.get(self._last)
            number = 1 if last is None else int(last.value) + 1
            await self._q.kv.commit(
                [
                    PutPair(key=self._last.encode(), value=b"%d" % number),
                    PutPair(key=f"{self._items}{number:0{_DIGITS}}".encode(), value=item),
                ],
                expected={self._last: 0 if last is None else last.revision},
            )

        await _undisturbed(put)

    async def take(self) -> bytes:
        """Take the first item; wait for one while the queue is empty.

        It is removed first: if it must not be lost, process it under a lock before taking it.
        """
        while True:
            async with aclosing(self._q.kv.list(self._items, page_size=1)) as items:
                async for item in items:
                    try:
                        await self._q.kv.delete(item.key, expected_revision=item.revision)
                    except RejectedError as error:
                        if error.code != _MISMATCH:
                            raise
                        break
                    return item.value
                else:
                    await _changed(self._q, self._items, lambda there: there)

    async def size(self) -> int:
        """Return the number of items."""
        return sum([1 async for _ in self._q.kv.list(self._items, keys_only=True)])


class Barrier:
    """Lets programs begin together, and end together, once."""

    def __init__(self, q: AsyncClient, name: str, parties: int) -> None:
        self._q: Final = q
        self._members: Final = f"{name}/members/"
        self._open: Final = f"{name}/open"
        self._parties: Final = parties

    @asynccontextmanager
    async def entered(self, *, ttl_s: float = TTL_S) -> AsyncIterator[None]:
        """Begin when all parties have entered, and end when all of them have left.

        A program that dies is not waited for after its time to live.
        """
        async with keeping(self._q, self._members, ttl_s=ttl_s) as lease:
            await lease.put(self._members + lease.name.rpartition("/")[2], b"")
            if await self._count() >= self._parties:
                await self._q.kv.put(self._open, b"")
            await _changed(self._q, self._open, lambda there: there)
            yield
        await _changed(self._q, self._members, lambda there: not there)
        await self._q.kv.delete(self._open)

    async def _count(self) -> int:
        return sum([1 async for _ in self._q.kv.list(self._members, keys_only=True)])


class SyncCounter(Blocking[Counter]):
    """A counter, for code that does not await."""

    value = blocking(Counter.value)
    add = blocking(Counter.add)


class SyncQueue(Blocking[Queue]):
    """A queue, for code that does not await."""

    put = blocking(Queue.put)
    take = blocking(Queue.take)
    size = blocking(Queue.size)


class SyncBarrier(Blocking[Barrier]):
    """A barrier, for code that does not await."""

    entered = entering(Barrier.entered)


async def _undisturbed(change: Callable[[], Awaitable[T]]) -> T:
    """Retry a change until no other program changed the same pairs meanwhile."""
    while True:
        try:
            return await change()
        except RejectedError as error:
            if error.code != _MISMATCH:
                raise


async def _changed(q: AsyncClient, prefix: str, wanted: Callable[[bool], bool]) -> None:
    """Return once `wanted` accepts whether pairs with the prefix exist."""
    there: set[bytes] = set()
    listed = False
    async with aclosing(q.watch("kv.pairs", prefix=prefix, marks=True)) as changes:
        async for change in changes:
            match change.kind:
                case ChangeKind.RESYNC:
                    there, listed = set(), False
                case ChangeKind.LISTED:
                    listed = True
                case ChangeKind.DELETED:
                    there.discard(change.key)
                case ChangeKind.BOOKMARK:
                    pass
                case _:
                    there.add(change.key)
            if listed and wanted(bool(there)):
                return
