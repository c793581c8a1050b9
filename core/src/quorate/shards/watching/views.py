"""Views of families that this node holds for reads in parts."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, islice
from typing import Final, NamedTuple

from quorate.apply.entries import whole
from quorate.plugin import Rejected
from quorate.shards.refusals import ExhaustedError
from quorate.shards.shard.capacity import FairShare
from quorate.shards.shard.shard import Shard
from quorate.storage.engine.port import View
from quorate.storage.rows import revision_of, value_of

#: The default idle time after which a view is closed.
TTL_S: Final = 300.0
#: The longest idle time: a view keeps deleted rows on the disk.
LONGEST_TTL_S: Final = 3_600.0
#: Maximum number of views of a node.
MOST_VIEWS: Final = 256
#: Limits of a page, which has at least one row.
PAGE_ROWS: Final = 2_000
PAGE_BYTES: Final = 512 << 10
#: The same of packed rows, which cost a quarter.
PACKED_ROWS: Final = 5_000

#: Of a view's name, which nobody can guess.
_NAME_BYTES: Final = 16
GONE: Final = "VIEW_GONE"
_RETRY_AFTER_MS: Final = 1_000


class SeenRow(NamedTuple):
    """A row, and the revision of the command that wrote it."""

    key: bytes
    value: bytes
    revision: int


class PackedRows(NamedTuple):
    """Keys and stored rows, one after the other, and where each ends."""

    keys: bytes
    key_ends: Sequence[int]
    #: Each has its revision in front of its value.
    rows: bytes
    row_ends: Sequence[int]
    last_key: bytes


class HeldView:
    """The rows of a shard's family at a revision."""

    def __init__(
        self,
        name: str,
        replica: Shard,
        family: str,
        ttl_s: float,
        opened_at: float,
        owner: str = "",
        opener: str = "",
    ) -> None:
        data = replica.data
        self.name: Final = name
        self.family: Final = family
        #: Who is charged for it.
        self.owner: Final = owner
        #: The identity that opened it, and alone reads it; "": nobody was asked for one.
        self.opener: Final = opener
        self.ttl_s: Final = ttl_s
        #: On the loop's clock.
        self.read_at = opened_at
        #: Taken in the same turn as the view.
        self.revision: Final = whole(data.applied)
        self.published: Final = replica.published
        self.estimated_rows: Final = data.estimates().get(family, 0)
        self._rows: View | None = data.view(family) if family in data.families else None
        #: Tells the rows of the shard's own slots; None: all are.
        self._owns: Final = replica.owner(family)
        self._gone = ""
        #: What ends it when it is idle, or its database goes.
        self.timer: asyncio.TimerHandle | None = None
        self.cancel: Callable[[], None] = lambda: None

    def ends(self) -> tuple[bytes, bytes] | None:
        """Return the first and the last key, or None without rows."""
        rows = self._held()
        if rows is None:
            return None
        first = next(rows.iterate(b"", None), None)
        last = rows.last()
        return None if first is None or last is None else (first[0], last)

    def page(self, start: bytes, end: bytes | None, limit: int | None) -> list[SeenRow]:
        """Return the first rows of a range; none at its end. Raises `Rejected`."""
        keys, stored = _first(self._range(start, end), limit, PAGE_ROWS)
        return [
            SeenRow(key, value_of(row), revision_of(row))
            for key, row in zip(keys, stored, strict=True)
        ]

    def packed(
        self, start: bytes, end: bytes | None, limit: int | None, *, keys_only: bool = False
    ) -> PackedRows | None:
        """Return the first rows of a range; None at its end. Raises `Rejected`."""
        keys, stored = _first(self._range(start, end), limit, PACKED_ROWS)
        if not keys:
            return None
        key_ends = list(accumulate(map(len, keys)))
        if keys_only:
            return PackedRows(b"".join(keys), key_ends, b"", (), keys[-1])
        row_ends = list(accumulate(map(len, stored)))
        return PackedRows(b"".join(keys), key_ends, b"".join(stored), row_ends, keys[-1])

    def _range(self, start: bytes, end: bytes | None) -> Iterator[tuple[bytes, bytes]]:
        """Yield the shard's own rows of a range."""
        rows, owns = self._held(), self._owns
        found = iter(()) if rows is None else rows.iterate(start, end)
        return found if owns is None else (row for row in found if owns(row[0]))

    def let_go(self, why: str) -> None:
        """Release the database; later reads raise the reason."""
        self._gone = self._gone or why
        self._rows = None
        self.cancel()
        if self.timer is not None:
            self.timer.cancel()

    def _held(self) -> View | None:
        if self._gone:
            raise _gone(self.name, self._gone)
        return self._rows


class HeldViews:
    """The views of a node; with `share` none has more of them than it leaves for others."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        *,
        most: int = MOST_VIEWS,
        share: FairShare | None = None,
    ) -> None:
        self._loop: Final = loop
        self._share: Final = share
        self._most: Final = most
        self._held: Final[dict[str, HeldView]] = {}
        #: Those that are held, or waited for.
        self._count = 0

    async def open(
        self,
        replica: Shard,
        family: str,
        ttl_s: float,
        timeout_s: float,
        owner: str = "",
        opener: str = "",
    ) -> HeldView:
        """Take a view with every write answered before; the owner is charged for it.

        Raises `UnreadableError`, and `ExhaustedError` if the node or the owner has too many views.
        """
        if self._count >= self._most:
            raise ExhaustedError(f"this node holds {self._most} views already", _RETRY_AFTER_MS)
        if self._share is not None:
            self._share.take(owner)
        self._count += 1
        name = secrets.token_hex(_NAME_BYTES)
        try:
            await replica.read_barrier(timeout_s)
            await replica.opened((family,), timeout_s)
            now = self._loop.time()
            view = HeldView(name, replica, family, ttl_s, now, owner, opener)
        except BaseException:
            self._give(owner)
            raise
        self._held[name] = view
        why = f"the database of shard {replica.id} on its node was closed or replaced"
        # Dropping the view releases the callback.
        view.cancel = replica.on_replace(lambda: self._lose(name, why))
        view.timer = self._loop.call_later(ttl_s, self._expire, view)
        return view

    def get(self, name: str, opener: str = "") -> HeldView:
        """Return a view and renew its idle time; raises `Rejected` if its opener has none."""
        view = self._held.get(name)
        if view is None or view.opener != opener:
            raise _gone(name, "it is not held here, or was not read for longer than its time")
        view.read_at = self._loop.time()
        return view

    def close(self, name: str, opener: str = "") -> None:
        """Close a view, if its opener has it open."""
        view = self._held.get(name)
        if view is not None and view.opener == opener:
            self._lose(name, "it was closed")

    def _expire(self, view: HeldView) -> None:
        left_s = view.read_at + view.ttl_s - self._loop.time()
        if left_s <= 0:
            self._lose(view.name, "it was not read for longer than its time")
        else:
            view.timer = self._loop.call_later(left_s, self._expire, view)

    def _lose(self, name: str, why: str) -> None:
        view = self._held.pop(name, None)
        if view is not None:
            view.let_go(why)
            self._give(view.owner)

    def _give(self, owner: str) -> None:
        self._count -= 1
        if self._share is not None:
            self._share.give(owner)


def _first(
    rows: Iterator[tuple[bytes, bytes]], limit: int | None, most: int
) -> tuple[list[bytes], list[bytes]]:
    """Return the keys of a page, and its rows as they are stored."""
    keys: list[bytes] = []
    stored: list[bytes] = []
    room = PAGE_BYTES
    # Scans of millions of rows come through this loop.
    for key, row in islice(rows, most if limit is None else min(limit, most)):
        keys.append(key)
        stored.append(row)
        room -= len(key) + len(row)
        if room <= 0:
            break
    return keys, stored


def _gone(name: str, why: str) -> Rejected:
    return Rejected(GONE, f"view {name} cannot be read any more: {why}; open another one")
