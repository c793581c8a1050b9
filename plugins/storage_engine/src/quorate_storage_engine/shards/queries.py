"""The reads of shards."""

from collections.abc import Iterator
from itertools import islice

from quorate.plugin import Reader, keys, read_range

from quorate_storage_engine.bounds import LONGEST_LIST
from quorate_storage_engine.families import SHARDS, shard_key
from quorate_storage_engine.segments.rows import read_segment
from quorate_storage_engine.shards.rows import find_shard
from quorate_storage_engine.v1.commands_pb2 import ShardState
from quorate_storage_engine.v1.queries_pb2 import GetShardQuery, ListShardsQuery
from quorate_storage_engine.v1.rows_pb2 import Shard


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
