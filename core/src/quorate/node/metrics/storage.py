"""RocksDB and the log's syncs: the databases of a node, and the memory that they share."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from quorate.node.metrics.table import Row, table
from quorate.observe.figures import Reading
from quorate.observe.histogram import Histogram
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
    """The source of these metrics."""

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

# fmt: off
_ROWS: Final[Sequence[Row[Storage]]] = (
    ("quorate_log_sync_seconds", "histogram", (),
     "Time of an fsync of the node's log, which all of its shards share.",
     lambda storage: [((), storage.syncs)]),
    ("quorate_disk_free_bytes", "gauge", (),
     "Free space on the file system of the node's directory.",
     lambda storage: [((), storage.free_bytes)]),
    ("quorate_rocksdb_block_cache_bytes", "gauge", (),
     "Memory taken by blocks of all databases; storage.block_cache_bytes bounds it.",
     lambda storage: [((), storage.budget.block_cache_used)]),
    ("quorate_rocksdb_write_buffers_bytes", "gauge", (),
     "Memory taken by unflushed rows of all databases; storage.write_buffer_bytes is"
     " where flushes begin.",
     lambda storage: [((), storage.budget.write_buffers_used)]),
    ("quorate_rocksdb_memtables_bytes", "gauge", _DATABASE,
     "Memory taken by the unflushed rows of a database: `log`, or a shard's.",
     _each(lambda database: database.memory().write_buffers)),
    ("quorate_rocksdb_table_readers_bytes", "gauge", _DATABASE,
     "Memory taken by indexes and filters of open files.",
     _each(lambda database: database.memory().table_readers)),
    ("quorate_rocksdb_tables_bytes", "gauge", _DATABASE,
     "Size of the sorted tables (SST files) in use, the write-ahead log left aside.",
     _each(lambda database: database.files().tables)),
    ("quorate_rocksdb_pending_compaction_bytes", "gauge", _DATABASE,
     "Bytes that compactions have to rewrite.",
     _each(lambda database: database.files().pending_compaction)),
    ("quorate_rocksdb_write_stopped", "gauge", _DATABASE,
     "1 while writes wait until flushes or compactions have caught up.",
     _each(lambda database: database.stalled)),
)
# fmt: on

METRICS: Final = table(_ROWS)
