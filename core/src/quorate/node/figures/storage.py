"""RocksDB and the log's syncs: the databases of a node, and the memory that they share."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from quorate.observe.histogram import Histogram
from quorate.observe.metrics import Metric, Reading
from quorate.storage.engine.port import FileUse, MemoryUse
from quorate.storage.engine.rocks import Budget


class Database(Protocol):
    """The node's log, or the data of a shard."""

    @property
    def stalled(self) -> bool:
        """Whether writes are stopped right now."""

    def memory(self) -> MemoryUse:
        """Return what it takes of memory."""

    def files(self) -> FileUse:
        """Return what it takes of the disk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """Where the figures are."""

    databases: Mapping[str, Database]
    budget: Budget
    syncs: Histogram
    free_bytes: int


def _each(read: Callable[[Database], float]) -> Callable[[Storage], Iterator[Reading]]:
    def read_all(storage: Storage) -> Iterator[Reading]:
        for name, database in storage.databases.items():
            yield (name,), read(database)

    return read_all


_DATABASE: Final = ("database",)

FIGURES: Final[Sequence[Metric[Storage]]] = (
    Metric(
        name="quorate_log_sync_seconds",
        kind="histogram",
        help="Time of an fsync of the node's log, which all of its shards share.",
        read=lambda storage: [((), storage.syncs)],
    ),
    Metric(
        name="quorate_disk_free_bytes",
        kind="gauge",
        help="Free space on the file system of the node's directory.",
        read=lambda storage: [((), storage.free_bytes)],
    ),
    Metric(
        name="quorate_rocksdb_block_cache_bytes",
        kind="gauge",
        help="Memory taken by blocks of all databases; storage.block_cache_bytes bounds it.",
        read=lambda storage: [((), storage.budget.block_cache_used)],
    ),
    Metric(
        name="quorate_rocksdb_write_buffers_bytes",
        kind="gauge",
        help="Memory taken by unflushed rows of all databases; storage.write_buffer_bytes is"
        " where flushes begin.",
        read=lambda storage: [((), storage.budget.write_buffers_used)],
    ),
    Metric(
        name="quorate_rocksdb_memtables_bytes",
        kind="gauge",
        help="Memory taken by the unflushed rows of a database: `log`, or a shard's.",
        labels=_DATABASE,
        read=_each(lambda database: database.memory().write_buffers),
    ),
    Metric(
        name="quorate_rocksdb_table_readers_bytes",
        kind="gauge",
        help="Memory taken by indexes and filters of open files.",
        labels=_DATABASE,
        read=_each(lambda database: database.memory().table_readers),
    ),
    Metric(
        name="quorate_rocksdb_tables_bytes",
        kind="gauge",
        help="Size of the sorted tables (SST files) in use, the write-ahead log left aside.",
        labels=_DATABASE,
        read=_each(lambda database: database.files().tables),
    ),
    Metric(
        name="quorate_rocksdb_pending_compaction_bytes",
        kind="gauge",
        help="Bytes that compactions have to rewrite.",
        labels=_DATABASE,
        read=_each(lambda database: database.files().pending_compaction),
    ),
    Metric(
        name="quorate_rocksdb_write_stopped",
        kind="gauge",
        help="1 while writes wait until flushes or compactions have caught up.",
        labels=_DATABASE,
        read=_each(lambda database: database.stalled),
    ),
)
