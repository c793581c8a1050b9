"""A shard's data, with everything that happens to it made known."""

from collections.abc import Callable, Iterable, Set
from typing import Any, Final
from zlib import crc32

from quorate.consensus.journal import Position
from quorate.storage.data.checkpoint import Incoming
from quorate.storage.data.home import Home
from quorate.storage.data.record import AppliedRecord
from quorate.storage.data.shard_data import ShardData
from quorate.storage.engine.port import Batch, Engine
from quorate.storage.families import APPLIED

from tests.support.sim.loop import ProcessEndedError


class LivingHome:
    """The directory of a shard, as long as the process lives: code that unwinds changes nothing."""

    def __init__(self, home: Home, ended: Callable[[], bool]) -> None:
        self._home: Final = home
        self._ended: Final = ended

    def __str__(self) -> str:
        return str(self._home)

    def _alive(self) -> Home:
        if self._ended():
            raise ProcessEndedError
        return self._home

    def pointer(self) -> bytes | None:
        """Return the pointer's content."""
        return self._alive().pointer()

    def point(self, content: bytes) -> None:
        """Replace the pointer."""
        self._alive().point(content)

    def settle_pointer(self) -> None:
        """Make the pointer durable."""
        self._alive().settle_pointer()

    def folders(self) -> tuple[str, ...]:
        """Return the names of the folders."""
        return self._alive().folders()

    def open(self, folder: str, families: Iterable[str]) -> Engine:
        """Open the database in a folder."""
        return self._alive().open(folder, families)

    def checkpoint(self, engine: Engine, folder: str) -> None:
        """Copy an open database."""
        self._alive().checkpoint(engine, folder)

    def fork(self, engine: Engine, home: Home, folder: str) -> None:
        """Copy an open database into another home."""
        self._alive().fork(engine, home._alive() if isinstance(home, LivingHome) else home, folder)

    def make(self, folder: str) -> None:
        """Make an empty folder."""
        self._alive().make(folder)

    def write(self, folder: str, name: str, offset: int, content: bytes) -> None:
        """Write a part of a file."""
        self._alive().write(folder, name, offset, content)

    def sync(self, folder: str) -> None:
        """Make a folder's files durable."""
        self._alive().sync(folder)

    def files(self, folder: str) -> dict[str, int]:
        """Return the size of each file in a folder."""
        return self._alive().files(folder)

    def read(self, folder: str, name: str, offset: int, size: int) -> bytes:
        """Read a part of a file."""
        return self._alive().read(folder, name, offset, size)

    def remove(self, folder: str) -> None:
        """Remove a folder."""
        self._alive().remove(folder)

    def destroy(self) -> None:
        """Remove everything."""
        self._alive().destroy()


class ObservedData(ShardData):
    """Keeps a digest of its rows up to date, whose cost is that of the changes alone."""

    def __init__(self, *opened: Any) -> None:
        super().__init__(*opened)
        self.committed: Callable[[int], None] = lambda _: None
        self.replaced: Callable[[Position], None] = lambda _: None
        self.content = self._read_content()

    def commit(self, batch: Batch, record: AppliedRecord, seen: Set[str] | None = None) -> None:
        """Write, then report the index."""
        before, content = self.applied, self._content_after(batch)
        super().commit(batch, record, seen)
        self.content = content
        self.committed(before)

    def install(self, incoming: Incoming) -> None:
        """Put a snapshot in the place of everything, then tell."""
        super().install(incoming)
        self.content = self._read_content()
        self.replaced(self.record.position)

    def _read_content(self) -> int:
        return sum(
            _weight(family, key, value)
            for family in self.families
            if family != APPLIED
            for key, value in self.iterate(family, b"", None)
        )

    def _content_after(self, batch: Batch) -> int:
        content = self.content
        for family, segments in batch.segments.items():
            if family == APPLIED:
                continue
            #: The rows that this batch has changed so far.
            now: dict[bytes, bytes | None] = {}
            for ranges, rows in segments:
                changes = dict(rows)
                for start, end in ranges:
                    stored = (key for key, _ in self.iterate(family, start, end))
                    written = (key for key in now if start <= key < end)
                    for key in {*stored, *written}:
                        content -= self._weight_now(family, key, now)
                        now[key] = None
                for key, value in changes.items():
                    content -= self._weight_now(family, key, now)
                    now[key] = value
                    content += _weight(family, key, value)
        return content

    def _weight_now(self, family: str, key: bytes, now: dict[bytes, bytes | None]) -> int:
        return _weight(family, key, now[key] if key in now else self.get(family, key))


def _weight(family: str, key: bytes, value: bytes | None) -> int:
    if value is None:
        return 0
    # The length tells where the key ends and the value begins.
    head = crc32(key, crc32(b"%s %d " % (family.encode(), len(key))))
    return crc32(value, head) + 1
