"""The engine's twin for tests and simulation: a disk with a write-ahead log that crashes lose.

The database recovers whole batches only, so a torn last batch is one that is gone, and a damaged
batch takes all that follow it along. The twin keeps what undoes each batch instead of its bytes.
"""

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator
from random import Random
from typing import Final, NamedTuple

from quorate.storage.engine.port import Batch, Change, DamagedError, EngineError, StalledError

#: Batches that stay in the write-ahead log, synced ones too: as far back as damage may reach.
WAL_BATCHES: Final = 4096


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
        first, behind = bisect_left(self.keys, start), bisect_left(self.keys, end)
        gone = [(key, self.rows.pop(key)) for key in self.keys[first:behind]]
        del self.keys[first:behind]
        return gone


class _Undo(NamedTuple):
    """The row as it was before; `value` is None where there was none."""

    table: _Table
    key: bytes
    value: bytes | None


class MemoryDisk:
    """What outlives the process: the rows, and how far they are durable."""

    def __init__(self) -> None:
        self._tables: dict[str, _Table] = {}
        self._wal: deque[tuple[_Undo, ...]] = deque()
        #: The number of the newest batch that was written.
        self.position = 0
        self._synced = 0
        self._opened = 0
        self._in_use = False
        #: Raised by every write and sync while it stands.
        self.failure: EngineError | None = None
        #: Writes are stopped.
        self.stalled = False

    def sync(self, position: int) -> None:
        """Make durable the batches up to a position that was read before the sync began."""
        if self.failure is not None:
            raise self.failure
        self._synced = max(self._synced, position)

    def kill(self) -> None:
        """The process dies; whatever it wrote is in the page cache and stays."""
        self._in_use = False
        self._opened += 1

    def lose_power(self, rng: Random) -> None:
        """The machine dies; some beginning of the batches that were not synced stays."""
        self.keep(rng.randint(self._synced, self.position))

    def keep(self, position: int) -> None:
        """The machine dies; the batches up to `position`, and of course the synced ones, stay."""
        self.kill()
        self._roll_back(max(position, self._synced))

    def damage_wal(self, position: int) -> None:
        """Flip a bit in a batch of the write-ahead log: recovery ends in front of it.

        Raises `ValueError` when that batch is no longer, or not yet, in the log.
        """
        if not self.position - len(self._wal) < position <= self.position:
            raise ValueError(f"batch {position} is not in the write-ahead log")
        self.kill()
        self._roll_back(position - 1)

    def damage_row(self, family: str, key: bytes) -> None:
        """Flip a bit in a stored block: reading the row fails."""
        self._tables[family].damaged.add(key)

    def _roll_back(self, position: int) -> None:
        while self.position > position:
            for table, key, value in reversed(self._wal.pop()):
                if value is None:
                    table.delete(key)
                else:
                    table.put(key, value)
            self.position -= 1

    # What the open database does with it.

    def _open(self, families: Iterable[str]) -> int:
        if self._in_use:
            raise EngineError("The database in memory is open already: close it or kill its user.")
        self._in_use = True
        for family in families:
            self._tables.setdefault(family, _Table())
        # Recovery writes what it found to files of their own, synced.
        self._synced = self.position
        return self._opened

    def _write(self, batch: Batch) -> None:
        undo: list[_Undo] = []
        for change, family, key, value in batch.operations:
            table = self._tables[family]
            if change is Change.DELETE_RANGE:
                undo += [_Undo(table, *row) for row in table.delete_range(key, value)]
                continue
            undo.append(_Undo(table, key, table.rows.get(key)))
            if change is Change.PUT:
                table.put(key, value)
            else:
                table.delete(key)
        self._wal.append(tuple(undo))
        self.position += 1
        if len(self._wal) > WAL_BATCHES and self._synced > self.position - len(self._wal):
            self._wal.popleft()


class MemoryEngine:
    """An open database on a `MemoryDisk`."""

    def __init__(self, disk: MemoryDisk, families: Iterable[str]) -> None:
        self._disk: Final = disk
        self._session: Final = disk._open(families)

    @property
    def families(self) -> tuple[str, ...]:
        """The families that are open."""
        return tuple(sorted(self._alive()._tables))

    @property
    def stalled(self) -> bool:
        """Tell whether writes are stopped right now."""
        return self._alive().stalled

    def get(self, family: str, key: bytes) -> bytes | None:
        """Return a value; None where there is no such key."""
        table = self._table(family)
        if key in table.damaged:
            raise _damaged(family)
        return table.rows.get(key)

    def write(self, batch: Batch, *, patient: bool = False) -> None:
        """Write a batch, unsynced; nobody can wait in memory, so a patient writer goes on."""
        disk = self._alive()
        if disk.failure is not None:
            raise disk.failure
        if disk.stalled and not patient:
            raise StalledError("Writes to the database in memory are stopped: try again later.")
        for _, family, _, _ in batch.operations:
            self._table(family)
        disk._write(batch)

    def iterate(
        self, family: str, start: bytes, end: bytes, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """Return the rows from `start` up to, not including, `end`, as they are now."""
        table = self._table(family)
        keys = table.keys[bisect_left(table.keys, start) : bisect_left(table.keys, end)]
        if reverse:
            keys.reverse()
        damaged = table.damaged.intersection(keys) if table.damaged else ()
        if damaged:
            return _until(family, [(key, table.rows[key]) for key in keys], set(damaged))
        return iter([(key, table.rows[key]) for key in keys])

    def flush_wal(self) -> None:
        """Make durable whatever was written."""
        disk = self._alive()
        disk.sync(disk.position)

    def close(self) -> None:
        """Close the database."""
        if self._session == self._disk._opened:
            self._disk.kill()

    def _alive(self) -> MemoryDisk:
        if self._session != self._disk._opened:
            raise EngineError("The database in memory is closed: open it again.")
        return self._disk

    def _table(self, family: str) -> _Table:
        try:
            return self._alive()._tables[family]
        except KeyError:
            raise EngineError(f"The database in memory has no family {family}.") from None


def _until(
    family: str, rows: list[tuple[bytes, bytes]], damaged: set[bytes]
) -> Iterator[tuple[bytes, bytes]]:
    for row in rows:
        if row[0] in damaged:
            raise _damaged(family)
        yield row


def _damaged(family: str) -> DamagedError:
    return DamagedError(f"A row of {family} in memory is damaged: replace this replica.")
