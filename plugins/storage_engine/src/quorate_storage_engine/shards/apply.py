"""The handlers of shards."""

from quorate.plugin import Rejected, Txn, keys
from quorate.v1.tenant_pb2 import Tenant

from quorate_storage_engine.engines.fleet import Fleet
from quorate_storage_engine.families import DELETIONS, TENANTS, UIDS, shard_key
from quorate_storage_engine.segments.founding import found_segment, place_segment
from quorate_storage_engine.segments.rows import read_segment
from quorate_storage_engine.shards.rows import find_shard, read_shard, write_shard
from quorate_storage_engine.v1 import commands_pb2 as pb, rows_pb2 as rows


def delete(txn: Txn, command: pb.DeleteShard) -> rows.Shard:
    """Mark a shard for deletion; the garbage collection does the rest."""
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
    if shard.status == rows.SHARD_STATUS_DELETING:
        raise Rejected(
            "SHARD_DELETING", f"engine shard {shard.name} is being deleted; wait until it is gone"
        )
    asked = (command.tenant, command.topic, command.config)
    if asked != (shard.tenant, shard.topic, shard.config):
        raise Rejected(
            "SHARD_DIFFERS",
            f"engine shard {shard.name} is there with another tenant, topic or configuration",
        )
    return pb.ShardState(shard=shard, segment=read_segment(txn, shard.name, shard.active_segment))
