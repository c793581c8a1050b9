"""A cache that follows the pairs with a prefix: it is read without a call."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Final

from quorate.client.twins import Blocking, blocking
from quorate.client.values import Text, as_bytes
from quorate.client.watching import ChangeKind

if TYPE_CHECKING:
    from quorate.client.asynchronous import AsyncClient


class PrefixCache(Mapping[Text, bytes]):
    """The pairs with a prefix, as a mapping of keys to values; a text stands for its UTF-8.

    It is behind the cluster by as long as a change takes to arrive, and by more while no node can
    be reached. It never goes back: while missed changes are made up for, it stays as it was. When
    it cannot go on, as without the right to read, each use raises the reason.
    """

    def __init__(self, q: AsyncClient, prefix: Text) -> None:
        self._q: Final = q
        self._prefix: Final = as_bytes("prefix", prefix)
        self._pairs: dict[bytes, bytes] = {}
        self._moved: Final = asyncio.Condition()
        self._listed = False
        self._error: BaseException | None = None

    def __getitem__(self, key: Text) -> bytes:
        return self._read()[as_bytes("key", key)]

    def __contains__(self, key: object) -> bool:
        return (key.encode() if isinstance(key, str) else key) in self._read()

    def __iter__(self) -> Iterator[bytes]:
        """Yield the keys in their order, as they were when this was called."""
        return iter(sorted(self._read().copy()))

    def __len__(self) -> int:
        return len(self._read())

    async def until(self, wanted: Callable[[PrefixCache], bool]) -> None:
        """Return once `wanted` accepts the cache, which is looked at after each change."""
        async with self._moved:
            await self._moved.wait_for(
                lambda: self._error is not None or (self._listed and wanted(self))
            )
        self._read()

    def _read(self) -> dict[bytes, bytes]:
        if self._error is not None:
            raise self._error
        return self._pairs

    async def follow(self) -> None:
        """Keep up with the cluster until this is cancelled."""
        #: Fills up while the rows are given again, beside the pairs that are read meanwhile.
        coming: dict[bytes, bytes] = {}
        listed = False
        try:
            async for change in self._q.watch("kv", prefix=self._prefix, marks=True):
                match change.kind:
                    case ChangeKind.RESYNC:
                        coming, listed = {}, False
                    case ChangeKind.LISTED:
                        listed = True
                    case ChangeKind.DELETED:
                        coming.pop(change.key, None)
                    case ChangeKind.BOOKMARK:
                        continue
                    case _:
                        coming[change.key] = change.value
                if listed:
                    self._pairs, self._listed = coming, True
                    await self._tell()
        except Exception as error:  # noqa: BLE001  # whoever reads the cache is told
            self._error = error
            await self._tell()

    async def _tell(self) -> None:
        async with self._moved:
            self._moved.notify_all()


@asynccontextmanager
async def following(q: AsyncClient, prefix: Text) -> AsyncIterator[PrefixCache]:
    """Give a cache once it holds the pairs of now, and end it."""
    cache = PrefixCache(q, prefix)
    task = asyncio.create_task(cache.follow())
    try:
        await cache.until(lambda there: True)
        yield cache
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


class SyncPrefixCache(Blocking[PrefixCache]):
    """The same for any number of threads: `with q.kv.following(prefix) as cache`."""

    def __getitem__(self, key: Text) -> bytes:
        return self.asynchronous[key]

    def __contains__(self, key: object) -> bool:
        return key in self.asynchronous

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.asynchronous)

    def __len__(self) -> int:
        return len(self.asynchronous)

    def get(self, key: Text) -> bytes | None:
        """Return the value of a key, or None."""
        try:
            return self[key]
        except KeyError:
            return None

    until = blocking(PrefixCache.until)
