"""The column families of the plugin, their keys, and the private indexes."""

from typing import Final

from quorate.plugin import ColumnFamily, keys
from quorate.plugin.advanced import METADATA_GROUP

GROUP: Final = METADATA_GROUP.name
SHARDS: Final = "storage_engine.shards"
SEGMENTS: Final = "storage_engine.segments"
ENGINES: Final = "storage_engine.engines"
#: Drops requested of engines; each engine watches the rows under its name.
DROPS: Final = "storage_engine.drops"

# Private indexes; their rows are empty, the keys hold all the information.

#: Engine, shard and number of each replica.
REPLICAS: Final = "storage_engine.replicas"
#: Leader, its broker epoch, shard and number of each led segment.
LEADERSHIPS: Final = "storage_engine.leaderships"
#: Segments without a leader that are not being removed.
UNAVAILABLE: Final = "storage_engine.unavailables"
#: Segments led by another replica than the preferred one.
DISPLACED: Final = "storage_engine.displacements"
#: Segments with fewer replicas than configured.
THIN: Final = "storage_engine.shortages"
#: Segments that are being removed.
REMOVALS: Final = "storage_engine.removals"
#: Shards that are being deleted.
DELETIONS: Final = "storage_engine.deletions"

#: The sequence of the shards' uids.
UIDS: Final = "storage_engine.uids"

#: Families with rows are declared by their resources. None has a shard key: placement needs all
#: rows in one shard.
FAMILIES: Final = tuple(
    ColumnFamily(name=name, group=GROUP)
    for name in (REPLICAS, LEADERSHIPS, UNAVAILABLE, DISPLACED, THIN, REMOVALS, DELETIONS)
)


def shard_key(name: str) -> bytes:
    """Return the key of a shard's row."""
    return keys.pack(name)


def segment_key(shard: str, number: int) -> bytes:
    """Return the key of a segment's row: the segments of a shard are adjacent, by number."""
    return keys.pack(shard, number)


def engine_key(name: str) -> bytes:
    """Return the key of an engine's row, and of its broker's."""
    return keys.pack(name)


def drop_key(engine: str, shard_uid: int, segment: int) -> bytes:
    """Return the key of a drop: the drops of one engine are adjacent."""
    return keys.pack(engine, shard_uid, segment)


def replica_key(engine: str, shard: str, number: int) -> bytes:
    """Return the key of a replica in the index of engines."""
    return keys.pack(engine, shard, number)


def leadership_key(engine: str, broker_epoch: int, shard: str, number: int) -> bytes:
    """Return the key of a leadership: earlier registrations of an engine sort first."""
    return keys.pack(engine, broker_epoch, shard, number)
