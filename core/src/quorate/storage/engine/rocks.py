"""The engine on RocksDB: the only module that imports rocksdict."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from rocksdict import (
    DBCompressionType,
    DBRecoveryMode,
    Options,
    Rdict,
    RdictIter,
    ReadOptions,
    WriteBatch,
    WriteOptions,
)

from quorate.storage.engine.port import (
    Batch,
    Change,
    DamagedError,
    EngineError,
    FullError,
    StalledError,
)

#: The family that every RocksDB database has; nothing is kept in it.
_DEFAULT: Final = "default"


class RocksEngine:
    """An open RocksDB database. Opening it makes durable whatever recovery found."""

    def __init__(self, path: Path, families: Iterable[str]) -> None:
        self._path: Final = path
        self._closed = False
        try:
            names = sorted({*families, *_families_on_disk(path)} - {_DEFAULT})
            self._database: Final = Rdict(
                str(path), _options(), column_families={name: _options() for name in names}
            )
            # Opened once: dropping such an object flushes its family with the GIL held.
            self._stores: Final = {name: self._database.get_column_family(name) for name in names}
            self._columns: Final = {
                name: self._database.get_column_family_handle(name) for name in names
            }
        except Exception as error:
            raise _translated(error, "open", path) from error
        self._impatient: Final = WriteOptions()
        self._impatient.no_slowdown = True
        self._patient: Final = WriteOptions()

    @property
    def families(self) -> tuple[str, ...]:
        """The families that are open."""
        return tuple(self._stores)

    @property
    def stalled(self) -> bool:
        """Tell whether writes are stopped right now."""
        return self._database.property_int_value("rocksdb.is-write-stopped") == 1

    def get(self, family: str, key: bytes) -> bytes | None:
        """Return a value; None where there is no such key."""
        store = self._store(family)
        try:
            value: bytes | None = store.get(key)
        except Exception as error:
            raise _translated(error, f"read {family} in", self._path) from error
        return value

    def write(self, batch: Batch, *, patient: bool = False) -> None:
        """Write a batch, unsynced."""
        columns = self._columns
        native = WriteBatch(raw_mode=True)
        try:
            for change, family, key, value in batch.operations:
                if change is Change.PUT:
                    native.put(key, value, columns[family])
                elif change is Change.DELETE:
                    native.delete(key, columns[family])
                else:
                    native.delete_range(key, value, columns[family])
            self._database.write(native, self._patient if patient else self._impatient)
        except KeyError as error:
            raise self._no_family(str(error.args[0])) from None
        except Exception as error:
            raise _translated(error, "write to", self._path) from error

    def iterate(
        self, family: str, start: bytes, end: bytes, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """Return the rows from `start` up to, not including, `end`, as they are now."""
        store = self._store(family)
        bounds = ReadOptions()
        # The lower bound has no such effect in rocksdict: it is compared here.
        bounds.set_iterate_upper_bound(end)
        try:
            cursor = store.iter(bounds)
            if reverse:
                cursor.seek_to_last()
            else:
                cursor.seek(start)
        except Exception as error:
            raise _translated(error, f"read {family} in", self._path) from error
        return self._rows(family, bounds, cursor, start, reverse)

    def flush_wal(self) -> None:
        """Make durable whatever was written before this call; other threads run meanwhile."""
        try:
            self._database.flush_wal(True)
        except Exception as error:
            raise _translated(error, "sync", self._path) from error

    def close(self) -> None:
        """Close the database."""
        if self._closed:
            return
        self._closed = True
        try:
            # RocksDB stays open, and its directory locked, while any of these objects lives.
            self._columns.clear()
            while self._stores:
                self._stores.popitem()[1].close()
            self._database.close()
        except Exception as error:
            raise _translated(error, "close", self._path) from error

    def _rows(
        self, family: str, bounds: ReadOptions, cursor: RdictIter, start: bytes, reverse: bool
    ) -> Iterator[tuple[bytes, bytes]]:
        # `bounds` is kept for as long as the cursor: rocksdict's cursor points into its memory and
        # does not hold it, so that a range would end wherever that memory is used again.
        step = cursor.prev if reverse else cursor.next
        try:
            while cursor.valid():
                key: bytes = cursor.key()
                if key < start:
                    break
                yield key, cursor.value()
                step()
            cursor.status()
        except Exception as error:
            raise _translated(error, f"read {family} in", self._path) from error

    def _store(self, family: str) -> Rdict:
        try:
            return self._stores[family]
        except KeyError:
            raise self._no_family(family) from None

    def _no_family(self, family: str) -> EngineError:
        if self._closed:
            return EngineError(f"The database {self._path} is closed: open it again.")
        return EngineError(
            f"The database {self._path} has no family {family}: name it when it is opened."
        )


def _options() -> Options:
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    options.create_missing_column_families(True)
    # The valid beginning of the write-ahead log is kept; whoever needs more of it finds out.
    options.set_wal_recovery_mode(DBRecoveryMode.point_in_time())
    options.set_compression_type(DBCompressionType.none())
    options.set_write_buffer_size(32 << 20)
    options.set_max_write_buffer_number(4)
    # Writes are held up by the sync of the log long before they could outrun flushes.
    options.set_level_zero_slowdown_writes_trigger(32)
    options.set_level_zero_stop_writes_trigger(64)
    options.set_max_background_jobs(2)
    options.set_keep_log_file_num(2)
    options.set_max_log_file_size(1 << 20)
    options.set_stats_dump_period_sec(0)
    options.set_stats_persist_period_sec(0)
    return options


def _families_on_disk(path: Path) -> list[str]:
    # RocksDB opens a database only when every family on disk is named.
    return Rdict.list_cf(str(path), _options()) if (path / "CURRENT").exists() else []


def _translated(error: Exception, doing: str, path: Path) -> EngineError:
    """Return our error for one of RocksDB, which come as bare exceptions with a text."""
    text = str(error)
    what = f"Cannot {doing} the database {path}: {text.rstrip('.')}."
    if "Corruption" in text:
        return DamagedError(
            f"{what} Its files are damaged: replace this member with `quorate member replace`."
        )
    if "No space left" in text:
        return FullError(f"{what} Free space on that file system, then restart the node.")
    if "Write stall" in text:
        return StalledError(f"{what} Flushes have to catch up: try again later.")
    if "lock hold by" in text or "While lock file" in text:
        return EngineError(f"{what} Another process has it open: stop that one.")
    return EngineError(f"{what} See to the cause, then restart the node.")
