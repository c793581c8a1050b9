"""The open data of one shard: its rows, and how far they and their durability have come."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import suppress
from threading import Lock
from typing import Final, Self

from quorate.consensus.journal import Position
from quorate.observe.failpoints import failpoint
from quorate.storage.data.checkpoint import Checkpoint, Incoming, Manifest
from quorate.storage.data.digest import Digest
from quorate.storage.data.home import Home
from quorate.storage.data.pointer import Pointer
from quorate.storage.data.record import EMPTY, KEY, AppliedRecord
from quorate.storage.engine.port import (
    Batch,
    DamagedError,
    Engine,
    EngineError,
    FileUse,
    MemoryUse,
    View,
)
from quorate.storage.families import APPLIED, SYSTEM
from quorate.storage.touched import Touched

_DATA: Final = "data."
_CHECKPOINT: Final = "checkpoint."


class _Database:
    """An open database. Whoever blocks holds its lock, so that it is not closed meanwhile."""

    def __init__(self, folder: str, engine: Engine) -> None:
        self.folder: Final = folder
        self.engine: Final = engine
        self._lock: Final = Lock()
        self._closed = False

    def unless_closed(self, act: Callable[[Engine], None]) -> None:
        """Do something that blocks."""
        with self._lock:
            if not self._closed:
                act(self.engine)

    def close(self) -> None:
        """Close it, behind whatever blocks."""
        with self._lock:
            self._closed = True
            self.engine.close()


class ShardData:
    """The rows of one shard behind its pointer file.

    `sync`, `flush` and `tidy` block and may run in any thread beside the rest, which belongs to
    one thread.
    """

    def __init__(
        self,
        home: Home,
        families: tuple[str, ...],
        database: _Database,
        record: AppliedRecord,
        installed: Position | None,
    ) -> None:
        self._home: Final = home
        self._wanted: Final = families
        self._database = database
        self._engine = database.engine
        self._record = record
        self._installed = installed
        #: Which families the newest entries have changed.
        self.touched = Touched(record.position.index)
        # What was recovered is made durable by opening it.
        self._durable = record.position.index
        self._retired: Final[list[_Database]] = []
        self._tidying: Final = Lock()
        self._doubt: EngineError | None = None
        self._numbers = 0

    @classmethod
    def open(cls, home: Home, families: Iterable[str]) -> Self:
        """Open the database that the pointer names, a new one at first; remove all leftovers.

        `families` are those of the plugins; those of core and those on disk come along.
        Raises `DamagedError` when the files do not agree with each other.
        """
        wanted = tuple(sorted({*families, *SYSTEM}))
        pointer = _pointer(home)
        folder = _folder(pointer)
        if pointer is None:
            _check_unused(home, wanted)
        leftovers = [each for each in home.folders() if pointer is None or each != folder]
        if pointer is not None:
            # A process that was killed may have left the pointer written and not durable: a power
            # loss would take it back later, when what it replaced is gone, or rows were written.
            home.settle_pointer()
        for leftover in leftovers:
            home.remove(leftover)
        engine = home.open(folder, wanted)
        try:
            if pointer is None:
                failpoint("data.created")
                home.point(Pointer(1, None).encode())
            installed = None if pointer is None else pointer.installed
            record = _record(home, engine, installed)
        except Exception:
            engine.close()
            raise
        return cls(home, wanted, _Database(folder, engine), record, installed)

    @property
    def record(self) -> AppliedRecord:
        """The state right after the newest entry that was applied."""
        return self._record

    @property
    def applied(self) -> int:
        """The index of the newest entry that was applied."""
        return self._record.position.index

    @property
    def installed(self) -> Position | None:
        """The snapshot that the database began with; None when it began empty."""
        return self._installed

    @property
    def durable_index(self) -> int:
        """The applied index that no crash takes back."""
        return self._durable

    @property
    def families(self) -> tuple[str, ...]:
        """All families, in order."""
        return self._engine.families

    @property
    def orphans(self) -> tuple[str, ...]:
        """The families on disk that no plugin claims: kept as they are."""
        return self._engine.orphans

    def add_family(self, family: str) -> None:
        """Open one more family, which no plugin of this node claims."""
        self._engine.add_family(family)

    @property
    def stalled(self) -> bool:
        """Tell whether a commit would be refused right now."""
        return self._engine.stalled

    def get(self, family: str, key: bytes) -> bytes | None:
        """Return a value; None where there is no such key."""
        return self._engine.get(family, key)

    def get_many(self, family: str, keys: list[bytes]) -> list[bytes | None]:
        """Return the values of keys, in their order: less work than one `get` for each."""
        return self._engine.get_many(family, keys)

    def iterate(
        self, family: str, start: bytes, end: bytes | None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """Return the rows from `start` up to, not including, `end`, as they are now.

        Iterators that are made in one turn of the loop are one view.
        """
        return self._engine.iterate(family, start, end, reverse=reverse)

    def view(self, family: str) -> View:
        """Take a view of a family, to be let go of before the database is replaced."""
        return self._engine.view(family)

    def commit(self, batch: Batch, record: AppliedRecord, seen: Set[str] | None = None) -> None:
        """Write the rows of applied entries and the record in one piece, unsynced.

        `seen` names the families whose events are among them, and what was emitted; without it
        any may be. After `StalledError` and `FullError` nothing has changed, and it may be tried
        again.
        """
        if record.position.index < self.applied:
            raise ValueError(f"{record.position} is behind {self._record.position}")
        if self._doubt is not None:
            raise self._doubt
        batch.put(APPLIED, KEY, record.encode())
        self._engine.write(batch)
        if seen is None:
            self.touched = Touched(record.position.index)
        else:
            self.touched.note(seen, self.applied + 1, record.position.index)
        self._record = record

    def begin(self, batch: Batch, record: AppliedRecord) -> None:
        """Let the shard begin with this state, durably: its log holds nothing of what was before.

        Blocks; whoever is interrupted in it destroys the home and begins anew.
        """
        self.commit(batch, record)
        self.sync()
        number = int(self._database.folder.removeprefix(_DATA))
        self._home.point(Pointer(number, record.position).encode())
        self._installed, self._durable = record.position, record.position.index

    # Durability.

    def begin_sync(self) -> int:
        """Return the applied index: the sync that begins now covers it."""
        return self.applied

    def sync(self) -> None:
        """Make durable what was committed before; blocks, off the GIL."""
        self._database.unless_closed(lambda engine: engine.flush_wal())

    def synced(self, index: int) -> None:
        """Record that a sync is done, with the index that its `begin_sync` gave."""
        self._durable = max(self._durable, index)

    def flush(self) -> None:
        """Move all written rows into files, so that a checkpoint is short; blocks, off the GIL."""
        self._database.unless_closed(_flush)

    # What others compare and report.

    def digest(self) -> Digest:
        """Begin a digest of all rows as they are now."""
        return Digest(self._engine, self._record.position)

    def estimates(self) -> Mapping[str, int]:
        """Return about how many rows each family has."""
        return {family: self._engine.estimated_rows(family) for family in self.families}

    def memory(self) -> MemoryUse:
        """Return what the database takes of memory, the node's block cache left aside."""
        return self._engine.memory()

    def files(self) -> FileUse:
        """Return what the database takes of the disk."""
        return self._engine.files()

    # Snapshots.

    def checkpoint(self) -> Checkpoint:
        """Copy the database as it is now; short, if all of it was flushed right before."""
        self._numbers += 1
        folder = f"{_CHECKPOINT}{self._numbers}"
        self._home.checkpoint(self._engine, folder)
        return Checkpoint(self._home, folder, self._record)

    def incoming(self, manifest: Manifest) -> Incoming:
        """Make room for a snapshot."""
        numbers = [
            int(folder.removeprefix(_DATA))
            for folder in self._home.folders()
            if folder.startswith(_DATA)
        ]
        return Incoming(self._home, f"{_DATA}{max(numbers) + 1}", manifest, self._wanted)

    def install(self, incoming: Incoming) -> None:
        """Put a finished snapshot in the place of everything, durably; short, on the loop.

        A crash at any point leaves the old data or the new. Readers of the old data have ended;
        `tidy` closes it later. When this raises anything but `ValueError`, it is not known which
        of both a restart finds, and nothing is committed any more.
        """
        record = incoming.manifest.record
        if record.position.index <= self.applied:
            raise ValueError(f"{record.position} is not ahead of {self._record.position}")
        number = int(incoming.folder.removeprefix(_DATA))
        failpoint("install.begun")
        engine = incoming.take()
        try:
            self._home.point(Pointer(number, record.position).encode())
        except Exception as error:
            self._doubt = EngineError(
                f"The data of {self._home} takes no writes after an install that failed: restart"
                f" the node when the cause is gone: {error}"
            )
            engine.close()
            raise self._doubt from error
        failpoint("install.pointed")
        self._retired.append(self._database)
        self._database = _Database(incoming.folder, engine)
        self._engine = engine
        self._record = record
        self.touched = Touched(record.position.index)
        self._installed = record.position
        self._durable = record.position.index
        failpoint("install.swapped")

    def tidy(self) -> None:
        """Close and remove databases that installs have replaced; blocks, for an executor."""
        with self._tidying:
            while self._retired:
                old = self._retired.pop()
                # What is not in files would be flushed by the close, with the GIL held. On a full
                # disk that fails, and it is the removal that makes room.
                with suppress(EngineError):
                    old.unless_closed(_flush)
                old.close()
                failpoint("install.closed")
                self._home.remove(old.folder)
                failpoint("install.removed")

    def close(self) -> None:
        """Close the database, behind whatever blocks."""
        self.tidy()
        self._database.close()


def _folder(pointer: Pointer | None) -> str:
    return f"{_DATA}{1 if pointer is None else pointer.number}"


def _flush(engine: Engine) -> None:
    # Each round takes what was written during the one before, which is much less every time; a
    # checkpoint does the same for the rest, and syncs the write-ahead log too.
    for _ in range(3):
        for family in engine.families:
            engine.flush(family)
        engine.flush_wal()


def _pointer(home: Home) -> Pointer | None:
    content = home.pointer()
    if content is None:
        return None
    try:
        pointer = Pointer.decode(content)
    except ValueError as error:
        raise _damaged(home, f"its pointer cannot be read: {error}") from None
    if _folder(pointer) not in home.folders():
        raise _damaged(home, f"it has no {_folder(pointer)}, which its pointer names")
    return pointer


def _check_unused(home: Home, families: tuple[str, ...]) -> None:
    """Raise `DamagedError` where there is more than a crash leaves that comes before the pointer.

    That is a database without rows, or one that cannot even be opened.
    """
    for folder in home.folders():
        if not folder.startswith(_DATA):
            continue
        if folder != _folder(None):
            raise _damaged(home, f"its pointer is gone and {folder} is there")
        try:
            engine = home.open(folder, families)
        except DamagedError:
            continue
        try:
            used = engine.get(APPLIED, KEY) is not None
        finally:
            engine.close()
        if used:
            raise _damaged(home, f"its pointer is gone and {folder} holds rows")


def _record(home: Home, engine: Engine, installed: Position | None) -> AppliedRecord:
    content = engine.get(APPLIED, KEY)
    try:
        record = EMPTY if content is None else AppliedRecord.decode(content)
    except ValueError as error:
        raise _damaged(home, str(error)) from None
    if installed is not None and record.position.index < installed.index:
        raise _damaged(
            home,
            f"it has applied index {record.position.index} and began with a snapshot at"
            f" {installed.index}",
        )
    return record


def _damaged(home: Home, what: str) -> DamagedError:
    return DamagedError(
        f"The data in {home} is damaged: {what}. Replace this member with `quorate member replace`."
    )
