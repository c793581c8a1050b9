"""The handlers of shards."""

from collections.abc import Iterator
from itertools import islice

from quorate.plugin import Reader, Rejected, Txn, keys
from quorate.plugin.resource import TENANTS
from quorate.v1.tenant_pb2 import Tenant

from quorate_storage_engine.engines.fleet import Fleet
from quorate_storage_engine.families import DELETIONS, SHARDS, UIDS, shard_key
from quorate_storage_engine.segments.rows import found_segment, place_segment, read_segment
from quorate_storage_engine.v1 import commands_pb2 as pb, rows_pb2 as rows
from quorate_storage_engine.v1.commands_pb2 import ShardState
from quorate_storage_engine.v1.queries_pb2 import GetShardQuery, ListShardsQuery
from quorate_storage_engine.v1.rows_pb2 import SHARD_STATUS_DELETING, Shard
from quorate_storage_engine.validation import LONGEST_LIST


def find_shard(reader: Reader, name: str) -> Shard | None:
    """Return a shard, if there is one."""
    row = reader.get(SHARDS, shard_key(name))
    return None if row is None else Shard.FromString(row)


def read_shard(reader: Reader, name: str) -> Shard:
    """Return a shard; rejects a shard that does not exist."""
    shard = find_shard(reader, name)
    if shard is None:
        raise Rejected("SHARD_NOT_FOUND", f"there is no engine shard {name}")
    return shard


def running_shard(reader: Reader, name: str) -> Shard:
    """Return a shard that may be changed; rejects a shard that is being deleted."""
    shard = read_shard(reader, name)
    _check_running(shard)
    return shard


def _check_running(shard: Shard) -> None:
    if shard.status == SHARD_STATUS_DELETING:
        raise Rejected(
            "SHARD_DELETING", f"engine shard {shard.name} is being deleted; wait until it is gone"
        )


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
    """Yield the matching shards, up to the limit."""
    start, end = keys.opening(query.name_prefix) if query.name_prefix else keys.prefix()
    if query.after_name:
        start = max(start, keys.successor(shard_key(query.after_name)))
    shards = (Shard.FromString(row.value) for row in reader.scan(SHARDS, start, end))
    matching = (shard for shard in shards if _fits(shard, query))
    return islice(matching, min(query.limit or LONGEST_LIST, LONGEST_LIST))


def _fits(shard: Shard, query: ListShardsQuery) -> bool:
    return query.tenant in ("", shard.tenant) and query.topic in ("", shard.topic)


def delete(txn: Txn, command: pb.DeleteShard) -> rows.Shard:
    """Mark a shard for deletion; the garbage collection removes it."""
    if command.missing_ok and find_shard(txn, command.name) is None:
        return rows.Shard()
    shard = read_shard(txn, command.name)
    if shard.status == rows.SHARD_STATUS_DELETING:
        return shard
    shard.status = rows.SHARD_STATUS_DELETING
    shard.deleting_at_ms = txn.proposed_at_ms
    txn.put(DELETIONS, shard_key(shard.name), b"")
    return write_shard(txn, shard)


def create(txn: Txn, fleet: Fleet, command: pb.CreateShard) -> pb.ShardState:
    """Create a shard with its first segment."""
    known = find_shard(txn, command.name)
    if known is not None:
        return _as_it_is(txn, known, command)
    tenant = Tenant.FromString(txn.get(TENANTS, keys.pack(command.tenant)) or b"")
    if tenant.deleting_at_ms:
        raise Rejected(
            "TENANT_DELETING", f"tenant {command.tenant} is being deleted: it takes nothing"
        )
    shard = rows.Shard(
        name=command.name,
        tenant=command.tenant,
        topic=command.topic,
        description=command.description,
        config=command.config,
        status=rows.SHARD_STATUS_RUNNING,
        segments=1,
        created_at_ms=txn.proposed_at_ms,
    )
    replicas = place_segment(fleet, shard, 0)
    shard.uid = txn.next_id(UIDS)
    segment = found_segment(txn, fleet, shard, replicas, number=0, start_offset=0)
    return pb.ShardState(shard=write_shard(txn, shard), segment=segment)


def _as_it_is(txn: Txn, shard: rows.Shard, command: pb.CreateShard) -> pb.ShardState:
    _check_running(shard)
    asked = (command.tenant, command.topic, command.config)
    if asked != (shard.tenant, shard.topic, shard.config):
        raise Rejected(
            "SHARD_DIFFERS",
            f"engine shard {shard.name} is there with another tenant, topic or configuration",
        )
    return pb.ShardState(shard=shard, segment=read_segment(txn, shard.name, shard.active_segment))
