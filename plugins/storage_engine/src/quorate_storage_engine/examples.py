"""What the examples of commands are about: a shard of one replica, and its first segment."""

from typing import Final

from quorate_storage_engine.v1.commands_pb2 import LeaderClaim, SeenSegment
from quorate_storage_engine.v1.rows_pb2 import STORAGE_TYPE_SEGMENT, ShardConfig

CONFIG: Final = ShardConfig(
    replicas=3,
    min_in_sync_replicas=2,
    storage=STORAGE_TYPE_SEGMENT,
    max_segment_bytes=1 << 30,
    retention_s=604_800,
)
CLAIM: Final = LeaderClaim(engine="engine-1", broker_epoch=1, leader_epoch=1)
SEEN: Final = SeenSegment(shard="orders-0", segment=0, segment_epoch=1)
