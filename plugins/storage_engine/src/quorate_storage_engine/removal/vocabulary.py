"""The words for removal."""

from typing import Any, Final

from quorate.plugin import Command, DataRoute, Items, Query, constant_key, keys

from quorate_storage_engine import validation
from quorate_storage_engine.examples import SEEN
from quorate_storage_engine.families import BROKERS, GROUP, drop_key, segment_key
from quorate_storage_engine.removal import apply, queries
from quorate_storage_engine.v1.commands_pb2 import (
    AcknowledgeDropsCommand,
    DroppedSegment,
    FinishRemovalsCommand,
    ForgetDropsCommand,
    RemoveSegmentsCommand,
)
from quorate_storage_engine.v1.queries_pb2 import (
    FindAbandonedQuery,
    FindLostDropsQuery,
    FindRemovableQuery,
    ListDropsQuery,
)

ACKNOWLEDGE: Final = Command(
    message=AcknowledgeDropsCommand,
    group=GROUP,
    items=Items(
        get=lambda command: command.segments,
        shard_key=constant_key,
        make=lambda command, segments: AcknowledgeDropsCommand(
            engine=command.engine, broker_epoch=command.broker_epoch, segments=segments
        ),
        key=lambda dropped: keys.pack(dropped.shard_uid, dropped.segment),
    ),
    validate=validation.check_acknowledge_drops,
    public=True,
    examples=(
        AcknowledgeDropsCommand(
            engine="engine-1",
            broker_epoch=1,
            segments=[DroppedSegment(shard_uid=1, segment=0)],
        ),
    ),
)

REMOVE: Final = Command(
    message=RemoveSegmentsCommand,
    group=GROUP,
    items=Items(
        get=lambda command: command.segments,
        shard_key=constant_key,
        make=lambda _, segments: RemoveSegmentsCommand(segments=segments),
        key=lambda seen: segment_key(seen.shard, seen.segment),
    ),
    examples=(RemoveSegmentsCommand(segments=[SEEN]),),
)

FINISH: Final = Command(
    message=FinishRemovalsCommand,
    group=GROUP,
    items=Items(
        get=lambda command: command.segments,
        shard_key=constant_key,
        make=lambda _, segments: FinishRemovalsCommand(segments=segments),
        key=lambda seen: segment_key(seen.shard, seen.segment),
    ),
    examples=(FinishRemovalsCommand(segments=[SEEN]),),
)

FORGET: Final = Command(
    message=ForgetDropsCommand,
    group=GROUP,
    items=Items(
        get=lambda command: command.keys,
        shard_key=constant_key,
        make=lambda _, keys: ForgetDropsCommand(keys=keys),
        key=lambda key: key,
    ),
    examples=(ForgetDropsCommand(keys=[drop_key("engine-1", 1, 0)]),),
)

LIST: Final = Query(
    message=ListDropsQuery,
    group=GROUP,
    run=queries.list_drops,
    shard_key=constant_key,
)

FIND_REMOVABLE: Final = Query(
    message=FindRemovableQuery,
    group=GROUP,
    run=queries.find_removable,
    shard_key=constant_key,
)

FIND_ABANDONED: Final = Query(
    message=FindAbandonedQuery,
    group=GROUP,
    run=queries.find_abandoned,
    shard_key=constant_key,
    reads=(BROKERS,),
)

FIND_LOST: Final = Query(
    message=FindLostDropsQuery,
    group=GROUP,
    run=queries.find_lost_drops,
    shard_key=constant_key,
    reads=(BROKERS,),
)

COMMANDS: Final[tuple[Command[Any], ...]] = (
    ACKNOWLEDGE,
    REMOVE,
    FINISH,
    FORGET,
)
QUERIES: Final[tuple[Query[Any], ...]] = (
    LIST,
    FIND_REMOVABLE,
    FIND_ABANDONED,
    FIND_LOST,
)
ROUTES: Final[tuple[DataRoute[Any], ...]] = (
    DataRoute(message=AcknowledgeDropsCommand, apply=apply.acknowledge_drops, reads=(BROKERS,)),
    DataRoute(message=RemoveSegmentsCommand, apply=apply.remove_segments, reads=(BROKERS,)),
    DataRoute(message=FinishRemovalsCommand, apply=apply.finish_removals, reads=(BROKERS,)),
    DataRoute(message=ForgetDropsCommand, apply=apply.forget_drops, reads=(BROKERS,)),
)
