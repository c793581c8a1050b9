"""The words for changing and reading segments."""

from typing import Any, Final

from quorate.plugin import Command, DataRoute, Items, Query, constant_key

from quorate_storage_engine import validation
from quorate_storage_engine.examples import CLAIM
from quorate_storage_engine.families import BROKERS, GROUP, segment_key
from quorate_storage_engine.segments import apply, queries
from quorate_storage_engine.v1.commands_pb2 import (
    CreateNextSegmentCommand,
    CreateNextSegmentsCommand,
    DeleteSegmentCommand,
    DeleteSegmentsCommand,
    IsrMember,
    RecordSegmentStartCommand,
    RecordSegmentStartsCommand,
    SealSegmentCommand,
    SealSegmentsCommand,
    UpdateSegmentIsrCommand,
    UpdateSegmentIsrsCommand,
)
from quorate_storage_engine.v1.queries_pb2 import (
    GetSegmentsQuery,
    ListSegmentsQuery,
)

_CREATE_NEXT: Final = CreateNextSegmentCommand(
    shard="orders-0", current_segment=0, end_offset=40, end_timestamp_ms=9, claim=CLAIM
)

CREATE_NEXT: Final = Command(
    message=CreateNextSegmentCommand,
    group=GROUP,
    shard_key=constant_key,
    validate=validation.check_create_next_segment,
    public=True,
    examples=(_CREATE_NEXT,),
)

CREATE_NEXT_ALL: Final = Command(
    message=CreateNextSegmentsCommand,
    group=GROUP,
    items=Items(
        get=lambda command: command.segments,
        shard_key=constant_key,
        make=lambda _, segments: CreateNextSegmentsCommand(segments=segments),
        key=lambda segment: segment_key(segment.shard, segment.current_segment),
    ),
    validate=validation.check_create_next_segments,
    public=True,
    examples=(CreateNextSegmentsCommand(segments=[_CREATE_NEXT]),),
)

_SEAL: Final = SealSegmentCommand(
    shard="orders-0", segment=0, end_offset=40, end_timestamp_ms=9, claim=CLAIM
)

SEAL: Final = Command(
    message=SealSegmentCommand,
    group=GROUP,
    shard_key=constant_key,
    validate=validation.check_seal_segment,
    public=True,
    examples=(_SEAL,),
)

SEAL_ALL: Final = Command(
    message=SealSegmentsCommand,
    group=GROUP,
    items=Items(
        get=lambda command: command.segments,
        shard_key=constant_key,
        make=lambda _, segments: SealSegmentsCommand(segments=segments),
        key=lambda segment: segment_key(segment.shard, segment.segment),
    ),
    validate=validation.check_seal_segments,
    public=True,
    examples=(SealSegmentsCommand(segments=[_SEAL]),),
)

_RECORD_START: Final = RecordSegmentStartCommand(
    shard="orders-0", segment=0, start_timestamp_ms=5, claim=CLAIM
)

RECORD_START: Final = Command(
    message=RecordSegmentStartCommand,
    group=GROUP,
    shard_key=constant_key,
    validate=validation.check_record_segment_start,
    public=True,
    examples=(_RECORD_START,),
)

RECORD_START_ALL: Final = Command(
    message=RecordSegmentStartsCommand,
    group=GROUP,
    items=Items(
        get=lambda command: command.segments,
        shard_key=constant_key,
        make=lambda _, segments: RecordSegmentStartsCommand(segments=segments),
        key=lambda segment: segment_key(segment.shard, segment.segment),
    ),
    validate=validation.check_record_segment_starts,
    public=True,
    examples=(RecordSegmentStartsCommand(segments=[_RECORD_START]),),
)

_UPDATE_ISR: Final = UpdateSegmentIsrCommand(
    shard="orders-0",
    segment=0,
    claim=CLAIM,
    segment_epoch=1,
    isr=[IsrMember(engine="engine-1", broker_epoch=1)],
)

UPDATE_ISR: Final = Command(
    message=UpdateSegmentIsrCommand,
    group=GROUP,
    shard_key=constant_key,
    validate=validation.check_update_segment_isr,
    public=True,
    examples=(_UPDATE_ISR,),
)

UPDATE_ISR_ALL: Final = Command(
    message=UpdateSegmentIsrsCommand,
    group=GROUP,
    items=Items(
        get=lambda command: command.updates,
        shard_key=constant_key,
        make=lambda _, updates: UpdateSegmentIsrsCommand(updates=updates),
        key=lambda update: segment_key(update.shard, update.segment),
    ),
    validate=validation.check_update_segment_isrs,
    public=True,
    examples=(UpdateSegmentIsrsCommand(updates=[_UPDATE_ISR]),),
)

_DELETE: Final = DeleteSegmentCommand(shard="orders-0", segment=0)

DELETE: Final = Command(
    message=DeleteSegmentCommand,
    group=GROUP,
    shard_key=constant_key,
    validate=validation.check_delete_segment,
    public=True,
    examples=(_DELETE,),
)

DELETE_ALL: Final = Command(
    message=DeleteSegmentsCommand,
    group=GROUP,
    items=Items(
        get=lambda command: command.segments,
        shard_key=constant_key,
        make=lambda _, segments: DeleteSegmentsCommand(segments=segments),
        key=lambda segment: segment_key(segment.shard, segment.segment),
    ),
    validate=validation.check_delete_segments,
    public=True,
    examples=(DeleteSegmentsCommand(segments=[_DELETE]),),
)

GET: Final = Query(
    message=GetSegmentsQuery,
    group=GROUP,
    run=queries.get_segments,
    shard_key=constant_key,
)

LIST: Final = Query(
    message=ListSegmentsQuery,
    group=GROUP,
    run=queries.list_segments,
    shard_key=constant_key,
)

COMMANDS: Final[tuple[Command[Any], ...]] = (
    CREATE_NEXT,
    CREATE_NEXT_ALL,
    SEAL,
    SEAL_ALL,
    RECORD_START,
    RECORD_START_ALL,
    UPDATE_ISR,
    UPDATE_ISR_ALL,
    DELETE,
    DELETE_ALL,
)
QUERIES: Final[tuple[Query[Any], ...]] = (
    GET,
    LIST,
)
ROUTES: Final[tuple[DataRoute[Any], ...]] = (
    DataRoute(message=CreateNextSegmentCommand, apply=apply.create_next_segment, reads=(BROKERS,)),
    DataRoute(
        message=CreateNextSegmentsCommand, apply=apply.create_next_segments, reads=(BROKERS,)
    ),
    DataRoute(message=SealSegmentCommand, apply=apply.seal_segment, reads=(BROKERS,)),
    DataRoute(message=SealSegmentsCommand, apply=apply.seal_segments, reads=(BROKERS,)),
    DataRoute(
        message=RecordSegmentStartCommand, apply=apply.record_segment_start, reads=(BROKERS,)
    ),
    DataRoute(
        message=RecordSegmentStartsCommand, apply=apply.record_segment_starts, reads=(BROKERS,)
    ),
    DataRoute(message=UpdateSegmentIsrCommand, apply=apply.update_segment_isr, reads=(BROKERS,)),
    DataRoute(message=UpdateSegmentIsrsCommand, apply=apply.update_segment_isrs, reads=(BROKERS,)),
    DataRoute(message=DeleteSegmentCommand, apply=apply.delete_segment, reads=(BROKERS,)),
    DataRoute(message=DeleteSegmentsCommand, apply=apply.delete_segments, reads=(BROKERS,)),
)
