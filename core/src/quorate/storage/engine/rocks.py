"""The engine on RocksDB: the only module that imports rocksdict."""

# What a method does is documented at its port, `Engine`.
# ruff: noqa: D102

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from rocksdict import (
    BlockBasedIndexType,
    BlockBasedOptions,
    Cache,
    Checkpoint,
    DBCompressionType,
    DBRecoveryMode,
    IngestExternalFileOptions,
    Options,
    Rdict,
    RdictIter,
    ReadOptions,
    SstFileWriter,
    WriteBatch,
    WriteBufferManager,
    WriteOptions,
)

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

#: The family that every RocksDB database has; it stays empty.
_DEFAULT: Final = "default"
#: The one that the small families share, each under a prefix of its keys.
_SHARED: Final = "core"
#: The family of the node's log, and the part of the memory for write buffers that is its own.
_LOG: Final = "log"
_LOG_PART: Final = 4

#: In RocksDB's text: wrong bytes, files that are gone, and sectors that cannot be read.
_DAMAGE: Final = ("Corruption", "No such file", "Input/output error")


class Budget:
    """The memory that all databases of a node share."""

    def __init__(
        self, block_cache_bytes: int = 64 << 20, write_buffer_bytes: int = 64 << 20
    ) -> None:
        self.write_buffer_bytes: Final = write_buffer_bytes
        self.cache: Final = Cache(block_cache_bytes)
        # A database that is written while its buffers are over their budget flushes rows of its
        # own, however few. Every entry of the log would be flushed alone while shards hold the
        # memory, and the log be rewritten every few entries. Stalls are not allowed: a database
        # over the budget flushes, and the others write on.
        log_bytes = max(1, write_buffer_bytes // _LOG_PART)
        self.log_buffers: Final = WriteBufferManager(log_bytes, False)
        self.buffers: Final = WriteBufferManager(max(1, write_buffer_bytes - log_bytes), False)
        self._options: Final[dict[tuple[bool, bool, bool], Options]] = {}

    def options(self, family: str, *, of_log: bool = False, compacts: bool = True) -> Options:
        """Return the options of a family, which RocksDB copies: making them takes a while."""
        key = family == _LOG, of_log, compacts
        made = self._options.get(key)
        if made is None:
            made = self._options[key] = _options(self, family)
            made.set_write_buffer_manager(self.log_buffers if of_log else self.buffers)
            made.set_disable_auto_compactions(not compacts)
        return made

    @property
    def block_cache_used(self) -> int:
        """Bytes of cached blocks."""
        return self.cache.get_usage()

    @property
    def write_buffers_used(self) -> int:
        """Bytes of rows that are not flushed yet, or being flushed."""
        return self.buffers.get_usage() + self.log_buffers.get_usage()


class RocksEngine:
    """An open RocksDB database. Opening it makes recovered writes durable.

    A family comes to be on disk with its first row, and small ones share one: an open family takes
    100 KB of memory and a file handle, and most shards leave most families empty.
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
        self._of_log: Final = _LOG in wanted
        try:
            there = frozenset(_families_on_disk(path, self._budget)) - {_DEFAULT}
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
            self._orphans = tuple(sorted(on_disk - wanted))
            self._database = Rdict(
                str(path),
                self._options_of(_DEFAULT),
                column_families={name: self._options_of(name) for name in opened},
            )
            # Kept open: dropping such an object flushes its family with the GIL held.
            self._stores: Final = {name: self._database.get_column_family(name) for name in opened}
            self._columns: Final = {
                name: self._database.get_column_family_handle(name) for name in opened
            }
        except Exception as error:
            raise _translated(error, "open", path) from error
        self._impatient: Final = WriteOptions()
        self._impatient.no_slowdown = True
        self._patient: Final = WriteOptions()

    @property
    def families(self) -> tuple[str, ...]:
        return tuple(sorted(self._names))

    @property
    def orphans(self) -> tuple[str, ...]:
        return self._orphans

    def add_family(self, family: str) -> None:
        self._create(family)
        self._names |= {family}
        self._orphans = tuple(sorted((*self._orphans, family)))

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
        try:
            for family, segments in batch.segments.items():
                prefix = prefixes.get(family, b"")
                column = columns[_SHARED if prefix else family]
                # Passing the family to every put takes a third of its time.
                native.set_default_column_family(column)
                for ranges, rows in segments:
                    for start, end in ranges:
                        native.delete_range(prefix + start, prefix + end, column)
                    if prefix:
                        rows = {prefix + key: value for key, value in rows.items()}
                    if None not in rows.values():
                        # So it is for nearly all of many rows.
                        for key, value in rows.items():
                            put(key, value)
                        continue
                    for key, value in rows.items():
                        if value is None:
                            delete(key)
                        else:
                            put(key, value)
            self._database.write(native, self._patient if patient else self._impatient)
        except Exception as error:
            raise self._fault(error, "write to") from error

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
        try:
            return sum(each["num_entries"] for each in self._database.live_files())
        except Exception as error:
            raise self._fault(error, "look at the files of") from error

    def tables(self) -> Sequence[Path]:
        try:
            names = [str(each["name"]).lstrip("/") for each in self._database.live_files()]
        except Exception as error:
            raise self._fault(error, "look at the files of") from error
        return [self._path / name for name in names] + [self._path / "CURRENT"]

    def memory(self) -> MemoryUse:
        return MemoryUse(
            self._sum("rocksdb.size-all-mem-tables"),
            self._sum("rocksdb.estimate-table-readers-mem"),
        )

    def files(self) -> FileUse:
        return FileUse(
            self._sum("rocksdb.live-sst-files-size"),
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

    def flush_wal(self) -> None:
        try:
            self._database.flush_wal(True)
        except Exception as error:
            raise self._fault(error, "sync") from error

    def flush(self, family: str) -> None:
        store = self._store(family)
        if store is None:
            return
        try:
            store.flush(True)
        except Exception as error:
            raise self._fault(error, f"flush {family} of") from error

    def checkpoint(self, target: Path) -> None:
        """Create a copy of hard links at `target`, with the GIL held."""
        try:
            Checkpoint(self._database).create_checkpoint(str(target))
        except Exception as error:
            raise self._fault(error, f"make the checkpoint {target} of") from error

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        # RocksDB stays open, and its directory locked, while any of these objects lives. One whose
        # rows cannot be flushed, as its files are gone, stays open until it is dropped.
        self._columns.clear()
        failures = []
        while self._stores:
            failures += _failure_of(self._stores.popitem()[1].close)
        failures += _failure_of(self._database.close)
        if failures:
            del self._database
            raise self._fault(failures[0], "close") from failures[0]

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

    def _fault(self, error: Exception, doing: str) -> EngineError:
        found = _translated(error, doing, self._path)
        if self._damaged is not None and isinstance(found, DamagedError):
            self._damaged(found)
        return found

    def _options_of(self, family: str) -> Options:
        return self._budget.options(family, of_log=self._of_log, compacts=self._compacts)

    def _sum(self, name: str) -> int:
        return sum(store.property_int_value(name) or 0 for store in self._stores.values())

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
        try:
            store = self._database.create_column_family(family, self._options_of(family))
            self._columns[family] = self._database.get_column_family_handle(family)
        except Exception as error:
            raise self._fault(error, f"add {family} to") from error
        self._stores[family] = store

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
    options = _options(Budget(1 << 20, 1 << 20), family)
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


class _View:
    """A view by a cursor, which sees the rows at its creation."""

    def __init__(
        self,
        family: str,
        cursor: RdictIter,
        fault: Callable[[Exception, str], EngineError],
        prefix: bytes,
    ) -> None:
        self._family: Final = family
        self._prefix: Final = prefix
        self._cursor: Final = cursor
        self._fault: Final = fault

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


def _options(budget: Budget, family: str = _DEFAULT) -> Options:
    blocks = BlockBasedOptions()
    blocks.set_block_cache(budget.cache)
    # Indexes and filters count as blocks, so that memory stays within the budget.
    blocks.set_cache_index_and_filter_blocks(True)
    blocks.set_pin_l0_filter_and_index_blocks_in_cache(True)
    blocks.set_bloom_filter(10, False)
    # Partitioned into some kilobytes: those of a file take half a megabyte, and a cache miss on a
    # whole one is a hundred times slower.
    blocks.set_index_type(BlockBasedIndexType.two_level_index_search())
    blocks.set_partition_filters(True)
    blocks.set_pin_top_level_index_and_filter(True)
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    options.create_missing_column_families(True)
    # Keep the valid prefix of the write-ahead log; the witness detects a missing end.
    options.set_wal_recovery_mode(DBRecoveryMode.point_in_time())
    options.set_compression_type(DBCompressionType.none())
    # An insert into 32 MiB of rows takes up to twice as long, on the loop, and flushing them more
    # often takes no more in all where the first level is as small.
    options.set_write_buffer_size(8 << 20)
    options.set_max_write_buffer_number(8)
    options.set_max_bytes_for_level_base(64 << 20)
    if family == _LOG:
        # New files hold entries of all shards. Many are compacted at once, as they are hardly read,
        # into small ones: most of these are of one shard, and need not be merged with older ones.
        options.set_level_zero_file_num_compaction_trigger(16)
        options.set_target_file_size_base(8 << 20)
    # A small family takes one such block, and a node has many.
    options.set_arena_block_size(64 << 10)
    # The same again for a filter over the keys of each buffer: most reads are for keys that are not
    # in one, and would take as long there as in the files.
    options.set_memtable_whole_key_filtering(True)
    options.set_memtable_prefix_bloom_ratio(0.002)
    # A rarely written family retains the log of all others: this bounds the log's size and the time
    # of recovery.
    options.set_max_total_wal_size(2 * budget.write_buffer_bytes)
    options.set_block_based_table_factory(blocks)
    # The sync of the log limits writes long before they could outrun flushes.
    options.set_level_zero_slowdown_writes_trigger(32)
    options.set_level_zero_stop_writes_trigger(64)
    options.set_max_background_jobs(2)
    # Many databases are opened one after the other, most of them with few files: threads for them,
    # and statistics of every file, took half of the processor time of that.
    options.set_max_file_opening_threads(1)
    options.set_skip_stats_update_on_db_open(True)
    options.set_table_cache_num_shard_bits(2)
    options.set_keep_log_file_num(2)
    options.set_max_log_file_size(1 << 20)
    options.set_stats_dump_period_sec(0)
    options.set_stats_persist_period_sec(0)
    return options


def _failure_of(act: Callable[[], None]) -> list[Exception]:
    """Do it; return why it failed, without what holds on to the object."""
    try:
        act()
    except Exception as error:  # noqa: BLE001 - the caller raises it
        return [error.with_traceback(None)]
    return []


def _families_on_disk(path: Path, budget: Budget) -> list[str]:
    # RocksDB opens a database only when every family on disk is named.
    there = (path / "CURRENT").exists()
    return Rdict.list_cf(str(path), budget.options(_DEFAULT)) if there else []


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
