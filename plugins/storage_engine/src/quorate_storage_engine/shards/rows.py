"""Reads, lists and writes shards."""

from collections.abc import Iterator
from itertools import islice

from quorate.plugin import Reader, Rejected, Txn, keys, read_range

from quorate_storage_engine.families import SHARDS, shard_key
from quorate_storage_engine.segments.rows import read_segment
from quorate_storage_engine.v1.commands_pb2 import ShardState
from quorate_storage_engine.v1.queries_pb2 import GetShardQuery, ListShardsQuery
from quorate_storage_engine.v1.rows_pb2 import SHARD_STATUS_DELETING, Shard
from quorate_storage_engine.validation import LONGEST_LIST


def find_shard(reader: Reader, name: str) -> Shard | None:
    """Return a shard, if there is one."""
    row = reader.get(SHARDS, shard_key(name))
    return None if row is None else Shard.FromString(row)


def read_shard(reader: Reader, name: str) -> Shard:
    """Return a shard; refuses when there is none."""
    shard = find_shard(reader, name)
    if shard is None:
        raise Rejected("SHARD_NOT_FOUND", f"there is no engine shard {name}")
    return shard


def running_shard(reader: Reader, name: str) -> Shard:
    """Return a shard that may be changed; refuses when it is being deleted."""
    shard = read_shard(reader, name)
    if shard.status == SHARD_STATUS_DELETING:
        raise Rejected(
            "SHARD_DELETING", f"engine shard {name} is being deleted; wait until it is gone"
        )
    return shard


def write_shard(txn: Txn, shard: Shard) -> Shard:
    """Write a shard."""
    txn.put(SHARDS, shard_key(shard.name), shard.SerializeToString(deterministic=True))
    return shard


def get_shard(reader: Reader, query: GetShardQuery) -> Iterator[ShardState]:
    """Yield a shard with its active segment, if there is one."""
    shard = find_shard(reader, query.name)
    if shard is not None:
        segment = read_segment(reader, shard.name, shard.active_segment)
        yield ShardState(shard=shard, segment=segment)


def list_shards(reader: Reader, query: ListShardsQuery) -> Iterator[Shard]:
    """Yield the shards that fit, as many as are wanted."""
    start, end = keys.opening(query.name_prefix) if query.name_prefix else keys.prefix()
    if query.after_name:
        start = max(start, keys.successor(shard_key(query.after_name)))
    shards = (Shard.FromString(row.value) for row in read_range(reader, SHARDS, start, end))
    fitting = (shard for shard in shards if _fits(shard, query))
    return islice(fitting, min(query.limit or LONGEST_LIST, LONGEST_LIST))


def _fits(shard: Shard, query: ListShardsQuery) -> bool:
    return query.tenant in ("", shard.tenant) and query.topic in ("", shard.topic)
