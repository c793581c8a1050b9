"""Counters, gates and barriers: recipes over pairs and leases."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from quorate.client import blocking
from quorate.client.twins import Blocking, entering

from quorate_coordination.client.leases import TTL_S, keeping
from quorate_coordination.client.queues import undisturbed

if TYPE_CHECKING:
    from quorate.client import AsyncClient


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

        return await undisturbed(add)


class Gate:
    """Lets programs wait while it is closed: ZooKeeper's barrier.

    It stays closed when the program that closed it dies, until anybody opens it.
    """

    def __init__(self, q: AsyncClient, name: str) -> None:
        self._q: Final = q
        self._closed: Final = f"{name}/closed"

    async def close(self, why: str | bytes = b"") -> None:
        """Close it: who waits from now on waits until it is opened."""
        await self._q.kv.put(self._closed, why)

    async def open(self) -> bool:
        """Let all pass who wait; return whether it was closed."""
        return await self._q.kv.delete(self._closed)

    async def wait(self) -> None:
        """Return once it is open."""
        await _changed(self._q, self._closed, lambda there: not there)


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
            members = self._q.kv.list(self._members, keys_only=True)
            if len([each async for each in members]) >= self._parties:
                await self._q.kv.put(self._open, b"")
            await _changed(self._q, self._open, lambda there: there)
            yield
        await _changed(self._q, self._members, lambda there: not there)
        await self._q.kv.delete(self._open)


class SyncCounter(Blocking[Counter]):
    """A counter, for code that does not await."""

    value = blocking(Counter.value)
    add = blocking(Counter.add)


class SyncGate(Blocking[Gate]):
    """A gate, for code that does not await."""

    close = blocking(Gate.close)
    open = blocking(Gate.open)
    wait = blocking(Gate.wait)


class SyncBarrier(Blocking[Barrier]):
    """A barrier, for code that does not await."""

    entered = entering(Barrier.entered)


async def _changed(q: AsyncClient, prefix: str, wanted: Callable[[bool], bool]) -> None:
    """Return once `wanted` accepts whether pairs with the prefix exist."""
    async with q.kv.following(prefix) as rows:
        await rows.until(lambda rows: wanted(len(rows) > 0))
