"""The open data of a shard: its rows, and its applied and durable indexes."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Final, Self

from quorate.consensus.journal import Position
from quorate.observe.failpoints import failpoint
from quorate.storage.data.checkpoint import Checkpoint, Incoming, Manifest
from quorate.storage.data.digest import Digest
from quorate.storage.data.home import Home
from quorate.storage.data.record import EMPTY, KEY, AppliedRecord, Pointer
from quorate.storage.engine.port import Batch, DamagedError, Engine, EngineError, View
from quorate.storage.families import APPLIED, SYSTEM
from quorate.storage.touched import Touched

_DATA: Final = "data."
_CHECKPOINT: Final = "checkpoint."


class _Database:
    """An open database. Blocking calls hold its lock, so that it is not closed meanwhile."""

    def __init__(self, folder: str, engine: Engine) -> None:
        self.folder: Final = folder
        self.engine: Final = engine
        self._lock: Final = Lock()
        self._closed = False

    def unless_closed(self, act: Callable[[Engine], None]) -> None:
        """Make a blocking call."""
        with self._lock:
            if not self._closed:
                act(self.engine)

    def close(self) -> None:
        """Close it after all blocking calls."""
        with self._lock:
            self._closed = True
            self.engine.close()


class ShardData:
    """The rows of a shard, in the database that its pointer names.

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
        #: The open database; another one after an install.
        self.engine = database.engine
        #: The state after the newest applied entry.
        self.record = record
        #: The snapshot that the database began with; None if it began empty.
        self.installed = installed
        #: The families that the newest entries changed.
        self.touched = Touched(record.position.index)
        #: The applied index that survives a crash: opening makes what was recovered durable.
        self.durable_index = record.position.index
        self._retired: Final[list[_Database]] = []
        self._tidying: Final = Lock()
        self._doubt: EngineError | None = None
        self._numbers = 0

    @classmethod
    def open(cls, home: Home, families: Iterable[str]) -> Self:
        """Open the database that the pointer names, or create one; remove all others.

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
            # A killed process may leave the pointer unsynced; a later power loss would revert it to
            # a database that is gone, or drop newer rows.
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
    def applied(self) -> int:
        """The index of the newest applied entry."""
        return self.record.position.index

    @property
    def families(self) -> tuple[str, ...]:
        """All families, in order."""
        return self.engine.families

    @property
    def orphans(self) -> tuple[str, ...]:
        """The families on disk that no plugin declares; they are kept unread."""
        return self.engine.orphans

    def add_family(self, family: str) -> None:
        """Open a family that no plugin of this node declares."""
        self.engine.add_family(family)

    def get(self, family: str, key: bytes) -> bytes | None:
        """Return the value of a key, or None."""
        return self.engine.get(family, key)

    def get_many(self, family: str, keys: list[bytes]) -> list[bytes | None]:
        """Return the values of keys, in their order, with less overhead than `get`."""
        return self.engine.get_many(family, keys)

    def iterate(
        self, family: str, start: bytes, end: bytes | None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """Return the current rows with `start <= key < end`.

        Iterators that are made in one turn of the loop are one view.
        """
        return self.engine.iterate(family, start, end, reverse=reverse)

    def view(self, family: str) -> View:
        """Return a view of a family; release it before the database is replaced."""
        return self.engine.view(family)

    def commit(self, batch: Batch, record: AppliedRecord, seen: Set[str] | None = None) -> None:
        """Write the rows of applied entries and the record atomically, unsynced.

        `seen` names the families whose events are among them, and what was emitted; without it
        any may be. After `StalledError` and `FullError` nothing has changed, and it may be tried
        again.
        """
        if record.position.index < self.applied:
            raise ValueError(f"{record.position} is before {self.record.position}")
        if self._doubt is not None:
            raise self._doubt
        batch.put(APPLIED, KEY, record.encode())
        self.engine.write(batch)
        if seen is None:
            self.touched = Touched(record.position.index)
        else:
            self.touched.record(seen, self.applied + 1, record.position.index)
        self.record = record

    def ingest(self, files: Mapping[str, Sequence[Path]]) -> None:
        """Put the rows of sorted files in place, by family; the entry that does so comes next.

        All entries before that are durable by a `sync`. After a crash in between they are there
        before their entry, which puts them in place again.
        """
        if self._doubt is not None:
            raise self._doubt
        self.engine.ingest(files)

    def begin(self, batch: Batch, record: AppliedRecord) -> None:
        """Start the shard with this state, durably; its log has no earlier entries.

        Blocks; after an interruption destroy the home and begin anew.
        """
        self.commit(batch, record)
        self.sync()
        number = int(self._database.folder.removeprefix(_DATA))
        self._home.point(Pointer(number, record.position).encode())
        self.installed, self.durable_index = record.position, record.position.index

    def fork(self, home: Home, change: Callable[[Engine], AppliedRecord] | None = None) -> None:
        """Copy the current database into a home that is not in use, durably; quick after a flush.

        `change` makes something else of the copy, and returns the state that it then has. Blocks,
        and nothing may be committed meanwhile; until it returns the home stays unused.
        """
        folder, record = _folder(None), self.record
        for leftover in home.folders():
            home.remove(leftover)
        self._database.unless_closed(lambda engine: self._home.fork(engine, home, folder))
        if folder not in home.folders():
            raise EngineError(f"{self._home} was closed before it was copied to {home}.")
        if change is not None:
            engine = home.open(folder, self._wanted)
            try:
                record = change(engine)
            finally:
                engine.close()
        home.sync(folder)
        failpoint("split.copied" if change is None else "merge.copied")
        home.point(Pointer(1, record.position).encode())

    def read_beside(self, act: Callable[[Engine], None]) -> None:
        """Read the current database in any thread; raises `EngineError` if it is closed. Blocks."""
        read = list[bool]()

        def unless_closed(engine: Engine) -> None:
            act(engine)
            read.append(True)

        self._database.unless_closed(unless_closed)
        if not read:
            raise EngineError(f"{self._home} was closed before it was read.")

    # Durability.

    def begin_sync(self) -> int:
        """Return the applied index, which a sync that begins now covers."""
        return self.applied

    def sync(self) -> None:
        """Make earlier commits durable; blocks without the GIL."""
        self._database.unless_closed(lambda engine: engine.sync())

    def synced(self, index: int) -> None:
        """Record a completed sync, with the index from its `begin_sync`."""
        self.durable_index = max(self.durable_index, index)

    def flush(self) -> None:
        """Flush all rows to files, so that a checkpoint is quick; blocks without the GIL."""
        # Each round flushes what was written during the previous one, much less every time; the
        # checkpoint flushes the rest.
        for _ in range(3):
            self.sync()

    # Comparison.

    def digest(self) -> Digest:
        """Start a digest of the current rows."""
        return Digest(self.engine, self.record.position)

    def check_pointer(self) -> None:
        """Raise `DamagedError` unless the pointer names this database; blocks."""
        folder, pointer = self._database.folder, _pointer(self._home)
        named = None if pointer is None else (_folder(pointer), pointer.installed)
        # A snapshot may have been installed meanwhile.
        if named != (folder, self.installed) and self._database.folder == folder:
            raise _damaged(self._home, f"its pointer does not name {folder}")

    def estimates(self) -> Mapping[str, int]:
        """Return the approximate number of rows per family."""
        return {family: self.engine.estimated_rows(family) for family in self.families}

    # Snapshots.

    def checkpoint(self) -> Checkpoint:
        """Copy the current database; quick if it was just flushed."""
        self._numbers += 1
        folder = f"{_CHECKPOINT}{self._numbers}"
        self._home.checkpoint(self.engine, folder)
        return Checkpoint(self._home, folder, self.record)

    def incoming(self, manifest: Manifest) -> Incoming:
        """Start to receive a snapshot."""
        numbers = [
            int(folder.removeprefix(_DATA))
            for folder in self._home.folders()
            if folder.startswith(_DATA)
        ]
        return Incoming(self._home, f"{_DATA}{max(numbers) + 1}", manifest, self._wanted)

    def install(self, incoming: Incoming) -> None:
        """Replace all data by a finished snapshot, durably; quick, so it runs on the loop.

        A crash at any point leaves the old data or the new. Readers of the old data have ended;
        `tidy` closes it later. When this raises anything but `ValueError`, it is not known which
        of both a restart finds, and nothing is committed any more.
        """
        record = incoming.manifest.record
        if record.position.index <= self.applied:
            raise ValueError(f"{record.position} is not ahead of {self.record.position}")
        number = int(incoming.folder.removeprefix(_DATA))
        failpoint("install.begun")
        engine = incoming.take()
        try:
            self._home.point(Pointer(number, record.position).encode())
        except Exception as error:
            self._doubt = EngineError(
                f"The data of {self._home} takes no writes after an install that failed: restart"
                f" the node after the cause is fixed: {error}"
            )
            engine.close()
            raise self._doubt from error
        failpoint("install.pointed")
        self._retired.append(self._database)
        self._database = _Database(incoming.folder, engine)
        self.engine = engine
        self.record = record
        self.touched = Touched(record.position.index)
        self.installed = record.position
        self.durable_index = record.position.index
        failpoint("install.swapped")

    def tidy(self) -> None:
        """Close and remove replaced databases; blocks: run it in an executor."""
        with self._tidying:
            while self._retired:
                old = self._retired.pop()
                # It flushes rows, which fails on a full disk; the removal frees space.
                with suppress(EngineError):
                    old.close()
                failpoint("install.closed")
                self._home.remove(old.folder)
                failpoint("install.removed")

    def close(self) -> None:
        """Close the database after all blocking calls."""
        self.tidy()
        self._database.close()


def _folder(pointer: Pointer | None) -> str:
    return f"{_DATA}{1 if pointer is None else pointer.number}"


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
    """Raise `DamagedError` if more exists than a crash before the first pointer leaves.

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
        f"The data in {home} is damaged: {what}. Unless it is rebuilt by itself, replace this"
        " member with `quorate member replace`."
    )
