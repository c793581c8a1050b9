"""Where the loads are, and their keys."""

from typing import Final

from quorate.plugin import METADATA_GROUP, ColumnFamily, keys

from quorate_spark.v1.rows_pb2 import Load, LoadPartition

GROUP: Final = METADATA_GROUP.name
LOADS: Final = "spark.loads"
PARTITIONS: Final = "spark.partitions"


def load_key(load_id: str) -> bytes:
    """Return the key of a load."""
    return keys.pack(load_id)


def partition_key(load_id: str, partition: int) -> bytes:
    """Return the key of a part of a load."""
    return keys.pack(load_id, partition)


FAMILIES: Final = (
    ColumnFamily(name=LOADS, group=GROUP, row=Load),
    ColumnFamily(name=PARTITIONS, group=GROUP, row=LoadPartition),
)
