"""Reads and writes shards."""

from quorate.plugin import Reader, Rejected, Txn

from quorate_storage_engine.families import SHARDS, shard_key
from quorate_storage_engine.v1.rows_pb2 import SHARD_STATUS_DELETING, Shard


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
