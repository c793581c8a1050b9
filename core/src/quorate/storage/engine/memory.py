"""The engine in memory for tests and simulation, with crashes that lose unsynced writes.

The database recovers whole batches only, so a torn last batch is one that is gone. The twin keeps
what undoes each batch instead of its bytes.
Copies of a database are files of bytes, as a real one's are: they can be sent, cut and torn.
"""

# What a method does is documented at its port, `Engine`.
# ruff: noqa: D102

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from struct import Struct, error as StructError
from typing import Final, NamedTuple, Self
from urllib.parse import quote, unquote
from zlib import crc32

from quorate.storage.engine.port import (
    Batch,
    DamagedError,
    EngineError,
    FileUse,
    MemoryUse,
    StalledError,
    View,
)

#: The contents of a folder's files by name.
Files = dict[str, bytes]

_CHECKSUM: Final = Struct(">I")
_LENGTH: Final = Struct(">I")


class _Table:
    """One family: its rows, and its keys in order."""

    __slots__ = ("damaged", "keys", "rows")

    def __init__(self) -> None:
        self.rows: Final[dict[bytes, bytes]] = {}
        self.keys: Final[list[bytes]] = []
        self.damaged: Final[set[bytes]] = set()

    def put(self, key: bytes, value: bytes) -> None:
        if key not in self.rows:
            if not self.keys or key > self.keys[-1]:
                self.keys.append(key)
            else:
                self.keys.insert(bisect_left(self.keys, key), key)
        self.rows[key] = value
        self.damaged.discard(key)

    def delete(self, key: bytes) -> None:
        if self.rows.pop(key, None) is not None:
            del self.keys[bisect_left(self.keys, key)]

    def delete_range(self, start: bytes, end: bytes) -> list[tuple[bytes, bytes]]:
        first, last = bisect_left(self.keys, start), bisect_left(self.keys, end)
        gone = [(key, self.rows.pop(key)) for key in self.keys[first:last]]
        del self.keys[first:last]
        return gone

    def encode(self) -> bytes:
        parts = []
        for key in self.keys:
            value = self.rows[key]
            parts += [_LENGTH.pack(len(key)), key, _LENGTH.pack(len(value)), value]
        body = b"".join(parts)
        return _CHECKSUM.pack(crc32(body)) + body

    @classmethod
    def decode(cls, content: bytes) -> Self:
        if content[: _CHECKSUM.size] != _CHECKSUM.pack(crc32(content[_CHECKSUM.size :])):
            raise ValueError("its checksum differs")
        table, place, fields = cls(), _CHECKSUM.size, list[bytes]()
        while place < len(content):
            (length,) = _LENGTH.unpack_from(content, place)
            place += _LENGTH.size
            fields.append(content[place : place + length])
            place += length
        for key, value in zip(fields[::2], fields[1::2], strict=True):
            table.put(key, value)
        return table


class _Undo(NamedTuple):
    """The previous row; `value` is None if there was none."""

    table: _Table
    key: bytes
    value: bytes | None


class MemoryDisk:
    """What survives the process: the rows, and how far they are durable."""

    def __init__(self, folders: dict[Path, Files] | None = None, *, of_log: bool = False) -> None:
        """Make an empty one; that of a node's log loses nothing when the process is killed."""
        self._of_log: Final = of_log
        #: The folders of checkpoints.
        self._folders: Final = {} if folders is None else folders
        self._tables: dict[str, _Table] = {}
        #: What takes each unsynced batch back.
        self._undo: list[tuple[_Undo, ...]] = []
        #: The numbers of the newest batch and of the newest durable one.
        self.position = 0
        self.synced = 0
        self._opened = 0
        self._in_use = False
        #: The last batch that a running sync covers.
        self.sync_bound: int | None = None
        #: Raised by every write and sync while it is set.
        self.failure: EngineError | None = None
        #: Writes are stopped.
        self.stalled = False

    @classmethod
    def restore(cls, files: Mapping[str, bytes], folders: dict[Path, Files] | None = None) -> Self:
        """Return a disk with the files of a checkpoint; raises `DamagedError` for torn ones."""
        disk = cls(folders)
        for name, content in files.items():
            try:
                disk._tables[unquote(name)] = _Table.decode(content)
            except (ValueError, StructError) as error:
                raise DamagedError(
                    f"Cannot open the database in memory: {name} is damaged: {error}."
                    " Replace this replica."
                ) from None
        return disk

    def sync(self, position: int) -> None:
        """Make batches durable up to a position that was read before the sync began."""
        if self.failure is not None:
            raise self.failure
        if self.sync_bound is not None:
            position = min(position, self.sync_bound)
        self.synced = max(self.synced, position)
        del self._undo[: len(self._undo) - (self.position - self.synced)]

    def kill(self) -> None:
        """Crash the process: what a node's log wrote remains in the page cache."""
        self.keep(self.position if self._of_log else 0)

    def lose_power(self, rng: Random) -> None:
        """Crash the machine: a prefix of the unsynced batches remains."""
        self.keep(rng.randint(self.synced, self.position))

    def keep(self, position: int) -> None:
        """Crash: the batches up to `position` and the synced ones remain."""
        self._in_use = False
        self._opened += 1
        self._roll_back(max(position, self.synced))

    def damage_row(self, family: str, key: bytes) -> None:
        """Flip a bit in a stored block: reading the row fails."""
        self._tables[family].damaged.add(key)

    def _roll_back(self, position: int) -> None:
        while self.position > position:
            for table, key, value in reversed(self._undo.pop()):
                if value is None:
                    table.delete(key)
                else:
                    table.put(key, value)
            self.position -= 1

    # For the open database.

    def _open(self, families: Iterable[str]) -> int:
        if self._in_use:
            raise EngineError("The database in memory is already open: close it or kill its user.")
        self._in_use = True
        for family in families:
            self._tables.setdefault(family, _Table())
        # Recovery writes what it found to new files, synced.
        self._undo.clear()
        self.synced = self.position
        return self._opened

    def _write(self, batch: Batch) -> None:
        undo: list[_Undo] = []
        for family, segments in batch.segments.items():
            table = self._tables[family]
            for ranges, rows in segments:
                for start, end in ranges:
                    undo += [_Undo(table, *row) for row in table.delete_range(start, end)]
                for key, value in rows.items():
                    undo.append(_Undo(table, key, table.rows.get(key)))
                    if value is None:
                        table.delete(key)
                    else:
                        table.put(key, value)
        self._undo.append(tuple(undo))
        self.position += 1


class MemoryEngine:
    """An open database on a `MemoryDisk`."""

    def __init__(self, disk: MemoryDisk, families: Iterable[str]) -> None:
        self._disk: Final = disk
        wanted = frozenset(families)
        self._session: Final = disk._open(sorted(wanted))
        self.orphans = tuple(sorted(disk._tables.keys() - wanted))

    @property
    def families(self) -> tuple[str, ...]:
        return tuple(sorted(self._alive()._tables))

    def add_family(self, family: str) -> None:
        self._alive()._tables.setdefault(family, _Table())
        self.orphans = tuple(sorted((*self.orphans, family)))

    @property
    def stalled(self) -> bool:
        return self._alive().stalled

    def get(self, family: str, key: bytes) -> bytes | None:
        table = self._table(family)
        if key in table.damaged:
            raise _damaged(family)
        return table.rows.get(key)

    def get_many(self, family: str, keys: list[bytes]) -> list[bytes | None]:
        return [self.get(family, key) for key in keys]

    def write(self, batch: Batch, *, patient: bool = False) -> None:
        disk = self._alive()
        if disk.failure is not None:
            raise disk.failure
        if disk.stalled and not patient:
            raise StalledError("Writes to the database in memory are stopped: try again later.")
        for family in batch.segments:
            self._table(family)
        disk._write(batch)

    def iterate(
        self, family: str, start: bytes, end: bytes | None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        table = self._table(family)
        last = None if end is None else bisect_left(table.keys, end)
        keys = table.keys[bisect_left(table.keys, start) : last]
        if reverse:
            keys.reverse()
        damaged = table.damaged.intersection(keys) if table.damaged else ()
        if damaged:
            return _until(family, [(key, table.rows[key]) for key in keys], set(damaged))
        return iter([(key, table.rows[key]) for key in keys])

    def view(self, family: str) -> View:
        table = self._table(family)
        rows = [(key, table.rows[key]) for key in table.keys]
        return _View(family, rows, table.damaged.intersection(table.keys))

    def ingest(self, files: Mapping[str, Sequence[Path]]) -> None:
        disk = self._alive()
        batch = Batch()
        for family, paths in files.items():
            self._table(family)
            for path in paths:
                try:
                    batch.rows(family).update(_Table.decode(path.read_bytes()).rows)
                except (ValueError, StructError) as error:
                    raise DamagedError(f"The file {path} cannot be ingested: {error}.") from None
        disk._write(batch)
        # A power loss takes no rows of files back.
        disk.sync(disk.position)

    def sync(self) -> None:
        disk = self._alive()
        disk.sync(disk.position)

    def estimated_rows(self, family: str) -> int:
        """Return the number of rows of a family."""
        return len(self._table(family).rows)

    def file_rows(self) -> int:
        return sum(len(table.rows) for table in self._alive()._tables.values())

    def tables(self) -> Sequence[Path]:
        return ()

    def memory(self) -> MemoryUse:
        return MemoryUse(0, 0)

    def files(self) -> FileUse:
        return FileUse(0, 0)

    def flush(self) -> None:
        self.sync()

    def checkpoint(self, target: Path) -> None:
        disk = self._alive()
        if target in disk._folders:
            raise EngineError(f"Cannot make a checkpoint in {target}: it exists; remove it.")
        for family, table in disk._tables.items():
            if table.damaged:
                raise _damaged(family)
        disk._folders[target] = {
            quote(family, safe=""): table.encode() for family, table in disk._tables.items()
        }

    def close(self) -> None:
        disk = self._disk
        if self._session == disk._opened:
            if disk.failure is None:
                disk.sync(disk.position)
            disk.kill()

    def _alive(self) -> MemoryDisk:
        if self._session != self._disk._opened:
            raise EngineError("The database in memory is closed: open it again.")
        return self._disk

    def _table(self, family: str) -> _Table:
        try:
            return self._alive()._tables[family]
        except KeyError:
            raise EngineError(f"The database in memory has no family {family}.") from None


def write_file(path: Path, rows: Iterable[tuple[bytes, bytes]]) -> None:
    """Write a file for `ingest`, of rows in the order of their keys."""
    table = _Table()
    for key, value in rows:
        table.put(key, value)
    path.write_bytes(table.encode())


class _View:
    """A copy of the rows."""

    def __init__(self, family: str, rows: list[tuple[bytes, bytes]], damaged: set[bytes]) -> None:
        self._family: Final = family
        self._rows: Final = rows
        self._damaged: Final = damaged

    def iterate(self, start: bytes, end: bytes | None) -> Iterator[tuple[bytes, bytes]]:
        begin = bisect_left(self._rows, start, key=_key_of)
        last = None if end is None else bisect_left(self._rows, end, key=_key_of)
        return _until(self._family, self._rows[begin:last], self._damaged)

    def last(self) -> bytes | None:
        return self._rows[-1][0] if self._rows else None


def _key_of(row: tuple[bytes, bytes]) -> bytes:
    return row[0]


def _until(
    family: str, rows: list[tuple[bytes, bytes]], damaged: set[bytes]
) -> Iterator[tuple[bytes, bytes]]:
    for row in rows:
        if row[0] in damaged:
            raise _damaged(family)
        yield row


def _damaged(family: str) -> DamagedError:
    return DamagedError(f"A row of {family} in memory is damaged: replace this replica.")
