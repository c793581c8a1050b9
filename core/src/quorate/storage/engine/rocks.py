"""The engine on RocksDB."""

# What a method does is documented at its port, `Engine`.
# ruff: noqa: D102

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rocksdict import (
    Checkpoint,
    DBCompressionType,
    IngestExternalFileOptions,
    Options,
    Rdict,
    RdictIter,
    ReadOptions,
    SstFileWriter,
    WriteBatch,
    WriteOptions,
)

from quorate.storage.engine.options import DEFAULT, LOG, Budget, options_of
from quorate.storage.engine.port import (
    Batch,
    DamagedError,
    EngineError,
    FileUse,
    FullError,
    MemoryUse,
    StalledError,
    View,
)
from quorate.storage.families import EVENTS, SMALL

#: The one that the small families share, each under a prefix of its keys.
_SHARED: Final = "core"

#: How often a flush is begun that rows were not flushed by.
_FLUSHES: Final = 5

#: In RocksDB's text: wrong bytes, files that are gone, and sectors that cannot be read.
_DAMAGE: Final = ("Corruption", "No such file", "Input/output error")


class RocksEngine:
    """An open RocksDB database. Opening it makes recovered writes durable.

    A family comes to be on disk with its first row, and small ones share one: an open family takes
    100 KB of memory and a file handle, and most shards leave most families empty.

    Only the node's log has a write-ahead log, since rows are in the node's log. All families of a
    database are flushed at once, so that a crash leaves some beginning of its batches.
    """

    def __init__(
        self,
        path: Path,
        families: Iterable[str],
        budget: Budget | None = None,
        *,
        compacts: bool = True,
        damaged: Callable[[DamagedError], None] | None = None,
    ) -> None:
        """Open it; `damaged` is called in any thread when it is used and its files are damaged."""
        self._path: Final = path
        self._damaged: Final = damaged
        self._closed = False
        self._compacts: Final = compacts
        self._budget: Final = Budget() if budget is None else budget
        wanted = frozenset(families)
        self._of_log: Final = LOG in wanted
        try:
            # RocksDB opens a database only when every family on disk is named.
            exists = (path / "CURRENT").exists()
            names = Rdict.list_cf(str(path), self._budget.options(DEFAULT)) if exists else ()
            there = frozenset(names) - {DEFAULT}
            on_disk = there - {_SHARED}
            #: The small families that have no place of their own, as those of older databases do.
            self._prefixes: Final = {
                name: prefix for name, prefix in SMALL.items() if name in wanted - on_disk
            }
            # Every shard soon has events, and a family costs less when its database is created.
            at_once = {EVENTS} & wanted - on_disk if not there else frozenset[str]()
            at_once |= {_SHARED} if self._prefixes else set()
            opened = sorted(there | at_once)
            #: All families, those without a row too.
            self._names = wanted | on_disk
            self.orphans = tuple(sorted(on_disk - wanted))
            self._database = Rdict(
                str(path),
                self._options_of(DEFAULT),
                column_families={name: self._options_of(name) for name in opened},
            )
            # Kept open: dropping such an object flushes its family with the GIL held.
            self._stores: Final = {name: self._database.get_column_family(name) for name in opened}
            self._columns: Final = {
                name: self._database.get_column_family_handle(name) for name in opened
            }
        except Exception as error:
            raise _translated(error, "open", path) from error
        #: How many rows and ranges were written to each family since it was opened.
        self._written: Final = dict.fromkeys(opened, 0)
        self._impatient: Final = WriteOptions()
        self._impatient.no_slowdown = True
        self._patient: Final = WriteOptions()
        for each in (self._impatient, self._patient):
            # rocksdict's types take it for a method.
            setattr(each, "disable_wal", not self._of_log)  # noqa: B010

    @property
    def families(self) -> tuple[str, ...]:
        return tuple(sorted(self._names))

    def add_family(self, family: str) -> None:
        self._create(family)
        self._names |= {family}
        self.orphans = tuple(sorted((*self.orphans, family)))

    @property
    def stalled(self) -> bool:
        return self._database.property_int_value("rocksdb.is-write-stopped") == 1

    def get(self, family: str, key: bytes) -> bytes | None:
        prefix = self._prefixes.get(family)
        if prefix is not None:
            family, key = _SHARED, prefix + key
        try:
            value: bytes | None = self._stores[family].get(key)
        except KeyError:
            self._check_known(family)
            return None
        except Exception as error:
            raise self._fault(error, f"read {family} in") from error
        return value

    def get_many(self, family: str, keys: list[bytes]) -> list[bytes | None]:
        prefix = self._prefixes.get(family)
        if prefix is not None:
            family, keys = _SHARED, [prefix + key for key in keys]
        try:
            # rocksdict's types do not accept a list of bytes.
            store: Any = self._stores[family]
            values: list[bytes | None] = store.get(keys)
        except KeyError:
            self._check_known(family)
            return [None] * len(keys)
        except Exception as error:
            raise self._fault(error, f"read {family} in") from error
        return values

    def write(self, batch: Batch, *, patient: bool = False) -> None:
        columns, prefixes = self._columns, self._prefixes
        for family in batch.segments:
            if family not in columns and family not in prefixes:
                self._check_known(family)
                self._create(family)
        native = WriteBatch(raw_mode=True)
        put, delete = native.put, native.delete
        written = self._written
        counts = list[tuple[str, int]]()
        try:
            for family, segments in batch.segments.items():
                prefix = prefixes.get(family, b"")
                place = _SHARED if prefix else family
                column = columns[place]
                counts.append((place, sum(len(ranges) + len(rows) for ranges, rows in segments)))
                # Passing the family to every put takes a third of its time.
                native.set_default_column_family(column)
                for ranges, rows in segments:
                    for start, end in ranges:
                        native.delete_range(prefix + start, prefix + end, column)
                    if prefix:
                        rows = {prefix + key: value for key, value in rows.items()}
                    if None not in rows.values():
                        # So it is for nearly all of many rows: a loop would take longer.
                        deque(map(put, rows, rows.values()), 0)
                        continue
                    for key, value in rows.items():
                        if value is None:
                            delete(key)
                        else:
                            put(key, value)
            self._database.write(native, self._patient if patient else self._impatient)
        except Exception as error:
            raise self._fault(error, "write to") from error
        for place, count in counts:
            written[place] += count

    def iterate(
        self, family: str, start: bytes, end: bytes | None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        store = self._store(family)
        if store is None:
            return iter(())
        prefix = self._prefixes.get(family, b"")
        if prefix:
            start, end = prefix + start, _after(prefix) if end is None else prefix + end
        bounds = ReadOptions()
        # rocksdict ignores the lower bound here, so it is compared.
        if end is not None:
            bounds.set_iterate_upper_bound(end)
        try:
            cursor = store.iter(bounds)
            if reverse:
                cursor.seek_to_last()
            else:
                cursor.seek(start)
        except Exception as error:
            raise self._fault(error, f"read {family} in") from error
        rows = (self._backwards if reverse else self._forwards)(family, bounds, cursor, start)
        return ((key[1:], value) for key, value in rows) if prefix else rows

    def view(self, family: str) -> View:
        store = self._store(family)
        if store is None:
            return _EmptyView()
        try:
            cursor = store.iter()
        except Exception as error:
            raise self._fault(error, f"read {family} in") from error
        return _View(family, cursor, self._fault, self._prefixes.get(family, b""))

    def estimated_rows(self, family: str) -> int:
        # Of small families: that of all of them.
        return self._property(family, "rocksdb.estimate-num-keys")

    def file_rows(self) -> int:
        with self._while("look at the files of"):
            return sum(each["num_entries"] for each in self._database.live_files())

    def tables(self) -> Sequence[Path]:
        with self._while("look at the files of"):
            names = [str(each["name"]).lstrip("/") for each in self._database.live_files()]
            blobs = self._sum("rocksdb.num-blob-files")
        # RocksDB counts these and does not name them.
        gone = ["*.blob"] if blobs > len(list(self._path.glob("*.blob"))) else []
        return [self._path / name for name in (*names, "CURRENT", *gone)]

    def memory(self) -> MemoryUse:
        return MemoryUse(
            self._sum("rocksdb.size-all-mem-tables"),
            self._sum("rocksdb.estimate-table-readers-mem"),
        )

    def files(self) -> FileUse:
        return FileUse(
            self._sum("rocksdb.live-sst-files-size") + self._sum("rocksdb.live-blob-file-size"),
            self._sum("rocksdb.estimate-pending-compaction-bytes"),
        )

    def ingest(self, files: Mapping[str, Sequence[Path]]) -> None:
        options = IngestExternalFileOptions()
        # RocksDB takes links of the files, which would otherwise be copied with the GIL held.
        options.set_move_files(True)
        for family, paths in files.items():
            if family in self._prefixes:
                raise EngineError(f"{family} has no place of its own, for files to be put in.")
            store = self._store(family)
            if store is None:
                self._create(family)
                store = self._stores[family]
            links = [path.with_name(f"{path.name}.link") for path in paths]
            try:
                for path, link in zip(paths, links, strict=True):
                    link.unlink(missing_ok=True)
                    os.link(path, link)
                store.ingest_external_file([str(each) for each in links], options)
            except Exception as error:
                raise _translated(error, f"ingest files of {family} into", self._path) from error
            finally:
                for link in links:
                    link.unlink(missing_ok=True)

    def sync(self) -> None:
        if not self._of_log:
            self.flush()
            return
        with self._while("sync"):
            self._database.flush_wal(True)

    def flush(self) -> None:
        written = dict(self._written)
        with self._while("flush"):
            for _ in range(_FLUSHES):
                # A flush names one family, and would tear what a batch wrote to several. The
                # compaction of one flushes all of them at once first; this one is empty.
                self._database.compact_range(None, None)
                # It does not tell whether that failed.
                if all(self._flushed(*each) for each in written.items()):
                    return
            # A write tells why, unless flushes merely come late.
            self._database.write(WriteBatch(raw_mode=True), self._impatient)
        raise StalledError(f"The rows in {self._path} are not flushed yet: try again later.")

    def _flushed(self, place: str, number: int) -> bool:
        """Whether the first rows that were written to a family, a number of them, are in files."""
        # In this order what happens in between makes it less likely.
        written, count = self._written[place], self._stores[place].property_int_value
        buffered = count("rocksdb.num-entries-active-mem-table") or 0
        waiting = count("rocksdb.num-entries-imm-mem-tables") or 0
        return written - buffered - waiting >= number

    def checkpoint(self, target: Path) -> None:
        """Create a copy of hard links at `target`, with the GIL held."""
        with self._while(f"make the checkpoint {target} of"):
            Checkpoint(self._database).create_checkpoint(str(target))

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        failures = _failure_of(self.flush)
        if failures:
            # The close of a family flushes what is left of it alone. This makes that fail.
            self._database.cancel_all_background(True)
        # RocksDB stays open, and its directory locked, while any of these objects lives. One whose
        # rows cannot be flushed, as its files are gone, stays open until it is dropped.
        self._columns.clear()
        while self._stores:
            failures += _failure_of(self._stores.popitem()[1].close)
        failures += _failure_of(self._database.close)
        if failures:
            del self._database
            first = failures[0]
            raise first if isinstance(first, EngineError) else self._fault(first, "close")

    # `bounds` lives as long as the cursor: rocksdict's cursor points into it without owning it, and
    # would use a wrong bound after the memory is reused.

    def _forwards(
        self, family: str, bounds: ReadOptions, cursor: RdictIter, _start: bytes
    ) -> Iterator[tuple[bytes, bytes]]:
        valid, key, value, step = cursor.valid, cursor.key, cursor.value, cursor.next
        try:
            while valid():
                yield key(), value()
                step()
            cursor.status()
        except Exception as error:
            raise self._fault(error, f"read {family} in") from error

    def _backwards(
        self, family: str, bounds: ReadOptions, cursor: RdictIter, start: bytes
    ) -> Iterator[tuple[bytes, bytes]]:
        try:
            while cursor.valid() and (key := cursor.key()) >= start:
                yield key, cursor.value()
                cursor.prev()
            cursor.status()
        except Exception as error:
            raise self._fault(error, f"read {family} in") from error

    @contextmanager
    def _while(self, doing: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            raise self._fault(error, doing) from error

    def _fault(self, error: Exception, doing: str) -> EngineError:
        found = _translated(error, doing, self._path)
        if self._damaged is not None and isinstance(found, DamagedError):
            self._damaged(found)
        return found

    def _options_of(self, family: str) -> Options:
        return self._budget.options(family, of_log=self._of_log, compacts=self._compacts)

    def _sum(self, name: str) -> int:
        return sum(store.property_int_value(name) or 0 for store in list(self._stores.values()))

    def _property(self, family: str, name: str) -> int:
        store = self._store(family)
        return 0 if store is None else store.property_int_value(name) or 0

    def _store(self, family: str) -> Rdict | None:
        """Return where a family is, or None: it has no row."""
        store = self._stores.get(_SHARED if family in self._prefixes else family)
        if store is None:
            self._check_known(family)
        return store

    def _create(self, family: str) -> None:
        with self._while(f"add {family} to"):
            store = self._database.create_column_family(family, self._options_of(family))
            self._columns[family] = self._database.get_column_family_handle(family)
        self._stores[family] = store
        self._written[family] = 0

    def _check_known(self, family: str) -> None:
        if self._closed:
            raise EngineError(f"The database {self._path} is closed: open it again.")
        if family not in self._names:
            raise EngineError(
                f"The database {self._path} has no family {family}: name it when it is opened."
            )


class _EmptyView:
    """A view of a family that had no row."""

    def iterate(self, start: bytes, end: bytes | None) -> Iterator[tuple[bytes, bytes]]:
        return iter(())

    def last(self) -> bytes | None:
        return None


def write_file(path: Path, family: str, rows: Iterable[tuple[bytes, bytes]]) -> None:
    """Write a file for `ingest`, of rows in the order of their keys; one row at least."""
    options = options_of(Budget(1 << 20, 1 << 20), family)
    # It costs a fifth of what is saved by sending half of the bytes to every replica.
    options.set_compression_type(DBCompressionType.snappy())
    writer = SstFileWriter(options)
    try:
        writer.open(str(path))
        for key, value in rows:
            writer[key] = value
        writer.finish()
    except Exception as error:
        raise _translated(error, "write a sorted file beside", path) from error


@dataclass(eq=False, slots=True)
class _View:
    """A view by a cursor, which sees the rows at its creation."""

    _family: str
    _cursor: RdictIter
    _fault: Callable[[Exception, str], EngineError]
    _prefix: bytes

    def iterate(self, start: bytes, end: bytes | None) -> Iterator[tuple[bytes, bytes]]:
        cursor, prefix = self._cursor, self._prefix
        valid, key, value, step = cursor.valid, cursor.key, cursor.value, cursor.next
        if prefix:
            start, end = prefix + start, _after(prefix) if end is None else prefix + end
        cut = len(prefix)
        try:
            cursor.seek(start)
            while valid():
                found = key()
                if end is not None and found >= end:
                    break
                yield found[cut:], value()
                step()
            cursor.status()
        except Exception as error:
            raise self._fault(error, f"read {self._family} in") from error

    def last(self) -> bytes | None:
        cursor, prefix = self._cursor, self._prefix
        try:
            if prefix:
                # At most the first key of the next family.
                cursor.seek_for_prev(_after(prefix))
                if cursor.valid() and cursor.key() == _after(prefix):
                    cursor.prev()
            else:
                cursor.seek_to_last()
            if cursor.valid():
                key: bytes = cursor.key()
                return key[len(prefix) :] if key.startswith(prefix) else None
            cursor.status()
        except Exception as error:
            raise self._fault(error, f"read {self._family} in") from error
        return None


def _after(prefix: bytes) -> bytes:
    """Return the first key after those with a prefix of one byte."""
    return bytes([prefix[0] + 1])


def _failure_of(act: Callable[[], None]) -> list[Exception]:
    """Do it; return why it failed, without what holds on to the object."""
    try:
        act()
    except Exception as error:  # noqa: BLE001 - the caller raises it
        return [error.with_traceback(None)]
    return []


def _translated(error: Exception, doing: str, path: Path) -> EngineError:
    """Return our error for RocksDB's, which is a bare exception with a text."""
    text = str(error)
    what = f"Cannot {doing} the database {path}: {text.rstrip('.')}."
    if any(sign in text for sign in _DAMAGE):
        return DamagedError(
            f"{what} Its files are damaged: unless it is rebuilt by itself, replace this member"
            " with `quorate member replace`."
        )
    if "No space left" in text:
        return FullError(f"{what} Free space on that file system.")
    if "Write stall" in text:
        return StalledError(f"{what} Flushes must catch up: try again later.")
    if "lock hold by" in text or "While lock file" in text:
        return EngineError(f"{what} Another process has it open: stop that process.")
    return EngineError(f"{what} Fix the cause, then restart the node.")
