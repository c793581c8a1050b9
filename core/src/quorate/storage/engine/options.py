"""The options of RocksDB's families, and the memory that all databases of a node share."""

from typing import Final

from rocksdict import (
    BlockBasedIndexType,
    BlockBasedOptions,
    Cache,
    DBCompressionType,
    DBRecoveryMode,
    Options,
    WriteBufferManager,
)

from quorate.storage.families import EVENTS

#: The family that every RocksDB database has; it stays empty.
DEFAULT: Final = "default"
#: The family of the node's log, and the part of the memory for write buffers that is its own.
LOG: Final = "log"
_LOG_PART: Final = 4

#: The size from which events stand in files of their own.
_BLOB: Final = 1_024


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
        self._options: Final[dict[tuple[str, bool, bool], Options]] = {}

    def options(self, family: str, *, of_log: bool = False, compacts: bool = True) -> Options:
        """Return the options of a family, which RocksDB copies: making them takes a while."""
        key = family if family in (LOG, EVENTS) else "", of_log, compacts
        made = self._options.get(key)
        if made is None:
            made = self._options[key] = options_of(self, family)
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


def options_of(budget: Budget, family: str = DEFAULT) -> Options:
    """Return new options of a family."""
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
    options.set_atomic_flush(True)
    # Keep the valid prefix of the write-ahead log; the witness detects a missing end.
    options.set_wal_recovery_mode(DBRecoveryMode.point_in_time())
    options.set_compression_type(DBCompressionType.none())
    # An insert into 32 MiB of rows takes up to twice as long, on the loop, and flushing them more
    # often takes no more in all where the first level is as small.
    options.set_write_buffer_size(8 << 20)
    options.set_max_write_buffer_number(8)
    options.set_max_bytes_for_level_base(64 << 20)
    if family == LOG:
        # New files hold entries of all shards. Many are compacted at once, as they are hardly read,
        # into small ones: most of these are of one shard, and need not be merged with older ones.
        options.set_level_zero_file_num_compaction_trigger(16)
        options.set_target_file_size_base(8 << 20)
    if family == EVENTS:
        # No compaction writes them again, and they are trimmed in order: whole files are deleted.
        options.set_enable_blob_files(True)
        options.set_min_blob_size(_BLOB)
    # A small family takes one such block, and a node has many.
    options.set_arena_block_size(64 << 10)
    # The same again for a filter over the keys of each buffer: most reads are for keys that are not
    # in one, and would take as long there as in the files.
    options.set_memtable_whole_key_filtering(True)
    options.set_memtable_prefix_bloom_ratio(0.002)
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
