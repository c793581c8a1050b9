from quorate_storage_engine.v1 import rows_pb2 as _rows_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class CreateShard(_message.Message):
    __slots__ = ("name", "tenant", "topic", "description", "config")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    CONFIG_FIELD_NUMBER: _ClassVar[int]
    name: str
    tenant: str
    topic: str
    description: str
    config: _rows_pb2.ShardConfig
    def __init__(self, name: _Optional[str] = ..., tenant: _Optional[str] = ..., topic: _Optional[str] = ..., description: _Optional[str] = ..., config: _Optional[_Union[_rows_pb2.ShardConfig, _Mapping]] = ...) -> None: ...

class CreateShards(_message.Message):
    __slots__ = ("shards",)
    SHARDS_FIELD_NUMBER: _ClassVar[int]
    shards: _containers.RepeatedCompositeFieldContainer[CreateShard]
    def __init__(self, shards: _Optional[_Iterable[_Union[CreateShard, _Mapping]]] = ...) -> None: ...

class ShardState(_message.Message):
    __slots__ = ("shard", "segment")
    SHARD_FIELD_NUMBER: _ClassVar[int]
    SEGMENT_FIELD_NUMBER: _ClassVar[int]
    shard: _rows_pb2.Shard
    segment: _rows_pb2.Segment
    def __init__(self, shard: _Optional[_Union[_rows_pb2.Shard, _Mapping]] = ..., segment: _Optional[_Union[_rows_pb2.Segment, _Mapping]] = ...) -> None: ...

class DeleteShard(_message.Message):
    __slots__ = ("name", "missing_ok")
    NAME_FIELD_NUMBER: _ClassVar[int]
    MISSING_OK_FIELD_NUMBER: _ClassVar[int]
    name: str
    missing_ok: bool
    def __init__(self, name: _Optional[str] = ..., missing_ok: bool = ...) -> None: ...

class DeleteShards(_message.Message):
    __slots__ = ("shards",)
    SHARDS_FIELD_NUMBER: _ClassVar[int]
    shards: _containers.RepeatedCompositeFieldContainer[DeleteShard]
    def __init__(self, shards: _Optional[_Iterable[_Union[DeleteShard, _Mapping]]] = ...) -> None: ...

class LeaderClaim(_message.Message):
    __slots__ = ("engine", "broker_epoch", "leader_epoch")
    ENGINE_FIELD_NUMBER: _ClassVar[int]
    BROKER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    LEADER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    engine: str
    broker_epoch: int
    leader_epoch: int
    def __init__(self, engine: _Optional[str] = ..., broker_epoch: _Optional[int] = ..., leader_epoch: _Optional[int] = ...) -> None: ...

class CreateNextSegment(_message.Message):
    __slots__ = ("shard", "current_segment", "end_offset", "end_timestamp_ms", "claim")
    SHARD_FIELD_NUMBER: _ClassVar[int]
    CURRENT_SEGMENT_FIELD_NUMBER: _ClassVar[int]
    END_OFFSET_FIELD_NUMBER: _ClassVar[int]
    END_TIMESTAMP_MS_FIELD_NUMBER: _ClassVar[int]
    CLAIM_FIELD_NUMBER: _ClassVar[int]
    shard: str
    current_segment: int
    end_offset: int
    end_timestamp_ms: int
    claim: LeaderClaim
    def __init__(self, shard: _Optional[str] = ..., current_segment: _Optional[int] = ..., end_offset: _Optional[int] = ..., end_timestamp_ms: _Optional[int] = ..., claim: _Optional[_Union[LeaderClaim, _Mapping]] = ...) -> None: ...

class CreateNextSegments(_message.Message):
    __slots__ = ("segments",)
    SEGMENTS_FIELD_NUMBER: _ClassVar[int]
    segments: _containers.RepeatedCompositeFieldContainer[CreateNextSegment]
    def __init__(self, segments: _Optional[_Iterable[_Union[CreateNextSegment, _Mapping]]] = ...) -> None: ...

class SealSegment(_message.Message):
    __slots__ = ("shard", "segment", "end_offset", "end_timestamp_ms", "claim")
    SHARD_FIELD_NUMBER: _ClassVar[int]
    SEGMENT_FIELD_NUMBER: _ClassVar[int]
    END_OFFSET_FIELD_NUMBER: _ClassVar[int]
    END_TIMESTAMP_MS_FIELD_NUMBER: _ClassVar[int]
    CLAIM_FIELD_NUMBER: _ClassVar[int]
    shard: str
    segment: int
    end_offset: int
    end_timestamp_ms: int
    claim: LeaderClaim
    def __init__(self, shard: _Optional[str] = ..., segment: _Optional[int] = ..., end_offset: _Optional[int] = ..., end_timestamp_ms: _Optional[int] = ..., claim: _Optional[_Union[LeaderClaim, _Mapping]] = ...) -> None: ...

class SealSegments(_message.Message):
    __slots__ = ("segments",)
    SEGMENTS_FIELD_NUMBER: _ClassVar[int]
    segments: _containers.RepeatedCompositeFieldContainer[SealSegment]
    def __init__(self, segments: _Optional[_Iterable[_Union[SealSegment, _Mapping]]] = ...) -> None: ...

class RecordSegmentStart(_message.Message):
    __slots__ = ("shard", "segment", "start_timestamp_ms", "claim")
    SHARD_FIELD_NUMBER: _ClassVar[int]
    SEGMENT_FIELD_NUMBER: _ClassVar[int]
    START_TIMESTAMP_MS_FIELD_NUMBER: _ClassVar[int]
    CLAIM_FIELD_NUMBER: _ClassVar[int]
    shard: str
    segment: int
    start_timestamp_ms: int
    claim: LeaderClaim
    def __init__(self, shard: _Optional[str] = ..., segment: _Optional[int] = ..., start_timestamp_ms: _Optional[int] = ..., claim: _Optional[_Union[LeaderClaim, _Mapping]] = ...) -> None: ...

class RecordSegmentStarts(_message.Message):
    __slots__ = ("segments",)
    SEGMENTS_FIELD_NUMBER: _ClassVar[int]
    segments: _containers.RepeatedCompositeFieldContainer[RecordSegmentStart]
    def __init__(self, segments: _Optional[_Iterable[_Union[RecordSegmentStart, _Mapping]]] = ...) -> None: ...

class DeleteSegment(_message.Message):
    __slots__ = ("shard", "segment", "missing_ok")
    SHARD_FIELD_NUMBER: _ClassVar[int]
    SEGMENT_FIELD_NUMBER: _ClassVar[int]
    MISSING_OK_FIELD_NUMBER: _ClassVar[int]
    shard: str
    segment: int
    missing_ok: bool
    def __init__(self, shard: _Optional[str] = ..., segment: _Optional[int] = ..., missing_ok: bool = ...) -> None: ...

class DeleteSegments(_message.Message):
    __slots__ = ("segments",)
    SEGMENTS_FIELD_NUMBER: _ClassVar[int]
    segments: _containers.RepeatedCompositeFieldContainer[DeleteSegment]
    def __init__(self, segments: _Optional[_Iterable[_Union[DeleteSegment, _Mapping]]] = ...) -> None: ...

class IsrMember(_message.Message):
    __slots__ = ("engine", "broker_epoch")
    ENGINE_FIELD_NUMBER: _ClassVar[int]
    BROKER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    engine: str
    broker_epoch: int
    def __init__(self, engine: _Optional[str] = ..., broker_epoch: _Optional[int] = ...) -> None: ...

class UpdateSegmentIsr(_message.Message):
    __slots__ = ("shard", "segment", "claim", "segment_epoch", "isr")
    SHARD_FIELD_NUMBER: _ClassVar[int]
    SEGMENT_FIELD_NUMBER: _ClassVar[int]
    CLAIM_FIELD_NUMBER: _ClassVar[int]
    SEGMENT_EPOCH_FIELD_NUMBER: _ClassVar[int]
    ISR_FIELD_NUMBER: _ClassVar[int]
    shard: str
    segment: int
    claim: LeaderClaim
    segment_epoch: int
    isr: _containers.RepeatedCompositeFieldContainer[IsrMember]
    def __init__(self, shard: _Optional[str] = ..., segment: _Optional[int] = ..., claim: _Optional[_Union[LeaderClaim, _Mapping]] = ..., segment_epoch: _Optional[int] = ..., isr: _Optional[_Iterable[_Union[IsrMember, _Mapping]]] = ...) -> None: ...

class UpdateSegmentIsrs(_message.Message):
    __slots__ = ("updates",)
    UPDATES_FIELD_NUMBER: _ClassVar[int]
    updates: _containers.RepeatedCompositeFieldContainer[UpdateSegmentIsr]
    def __init__(self, updates: _Optional[_Iterable[_Union[UpdateSegmentIsr, _Mapping]]] = ...) -> None: ...

class ForceLeader(_message.Message):
    __slots__ = ("shard", "segment", "engine", "segment_epoch")
    SHARD_FIELD_NUMBER: _ClassVar[int]
    SEGMENT_FIELD_NUMBER: _ClassVar[int]
    ENGINE_FIELD_NUMBER: _ClassVar[int]
    SEGMENT_EPOCH_FIELD_NUMBER: _ClassVar[int]
    shard: str
    segment: int
    engine: str
    segment_epoch: int
    def __init__(self, shard: _Optional[str] = ..., segment: _Optional[int] = ..., engine: _Optional[str] = ..., segment_epoch: _Optional[int] = ...) -> None: ...

class ForceLeaders(_message.Message):
    __slots__ = ("elections",)
    ELECTIONS_FIELD_NUMBER: _ClassVar[int]
    elections: _containers.RepeatedCompositeFieldContainer[ForceLeader]
    def __init__(self, elections: _Optional[_Iterable[_Union[ForceLeader, _Mapping]]] = ...) -> None: ...

class DecommissionEngines(_message.Message):
    __slots__ = ("engines",)
    ENGINES_FIELD_NUMBER: _ClassVar[int]
    engines: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, engines: _Optional[_Iterable[str]] = ...) -> None: ...

class RecommissionEngines(_message.Message):
    __slots__ = ("engines",)
    ENGINES_FIELD_NUMBER: _ClassVar[int]
    engines: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, engines: _Optional[_Iterable[str]] = ...) -> None: ...

class DroppedSegment(_message.Message):
    __slots__ = ("shard_uid", "segment", "segment_epoch")
    SHARD_UID_FIELD_NUMBER: _ClassVar[int]
    SEGMENT_FIELD_NUMBER: _ClassVar[int]
    SEGMENT_EPOCH_FIELD_NUMBER: _ClassVar[int]
    shard_uid: int
    segment: int
    segment_epoch: int
    def __init__(self, shard_uid: _Optional[int] = ..., segment: _Optional[int] = ..., segment_epoch: _Optional[int] = ...) -> None: ...

class AcknowledgeDrops(_message.Message):
    __slots__ = ("engine", "broker_epoch", "segments")
    ENGINE_FIELD_NUMBER: _ClassVar[int]
    BROKER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    SEGMENTS_FIELD_NUMBER: _ClassVar[int]
    engine: str
    broker_epoch: int
    segments: _containers.RepeatedCompositeFieldContainer[DroppedSegment]
    def __init__(self, engine: _Optional[str] = ..., broker_epoch: _Optional[int] = ..., segments: _Optional[_Iterable[_Union[DroppedSegment, _Mapping]]] = ...) -> None: ...

class SeenSegment(_message.Message):
    __slots__ = ("shard", "segment", "segment_epoch")
    SHARD_FIELD_NUMBER: _ClassVar[int]
    SEGMENT_FIELD_NUMBER: _ClassVar[int]
    SEGMENT_EPOCH_FIELD_NUMBER: _ClassVar[int]
    shard: str
    segment: int
    segment_epoch: int
    def __init__(self, shard: _Optional[str] = ..., segment: _Optional[int] = ..., segment_epoch: _Optional[int] = ...) -> None: ...

class SwitchLeaders(_message.Message):
    __slots__ = ("segments",)
    SEGMENTS_FIELD_NUMBER: _ClassVar[int]
    segments: _containers.RepeatedCompositeFieldContainer[SeenSegment]
    def __init__(self, segments: _Optional[_Iterable[_Union[SeenSegment, _Mapping]]] = ...) -> None: ...

class Election(_message.Message):
    __slots__ = ("seen", "engine", "broker_epoch")
    SEEN_FIELD_NUMBER: _ClassVar[int]
    ENGINE_FIELD_NUMBER: _ClassVar[int]
    BROKER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    seen: SeenSegment
    engine: str
    broker_epoch: int
    def __init__(self, seen: _Optional[_Union[SeenSegment, _Mapping]] = ..., engine: _Optional[str] = ..., broker_epoch: _Optional[int] = ...) -> None: ...

class ElectLeaders(_message.Message):
    __slots__ = ("elections",)
    ELECTIONS_FIELD_NUMBER: _ClassVar[int]
    elections: _containers.RepeatedCompositeFieldContainer[Election]
    def __init__(self, elections: _Optional[_Iterable[_Union[Election, _Mapping]]] = ...) -> None: ...

class MoveLeaders(_message.Message):
    __slots__ = ("segments",)
    SEGMENTS_FIELD_NUMBER: _ClassVar[int]
    segments: _containers.RepeatedCompositeFieldContainer[SeenSegment]
    def __init__(self, segments: _Optional[_Iterable[_Union[SeenSegment, _Mapping]]] = ...) -> None: ...

class FillReplicas(_message.Message):
    __slots__ = ("segments",)
    SEGMENTS_FIELD_NUMBER: _ClassVar[int]
    segments: _containers.RepeatedCompositeFieldContainer[SeenSegment]
    def __init__(self, segments: _Optional[_Iterable[_Union[SeenSegment, _Mapping]]] = ...) -> None: ...

class Departure(_message.Message):
    __slots__ = ("seen", "engine")
    SEEN_FIELD_NUMBER: _ClassVar[int]
    ENGINE_FIELD_NUMBER: _ClassVar[int]
    seen: SeenSegment
    engine: str
    def __init__(self, seen: _Optional[_Union[SeenSegment, _Mapping]] = ..., engine: _Optional[str] = ...) -> None: ...

class MoveReplicas(_message.Message):
    __slots__ = ("departures",)
    DEPARTURES_FIELD_NUMBER: _ClassVar[int]
    departures: _containers.RepeatedCompositeFieldContainer[Departure]
    def __init__(self, departures: _Optional[_Iterable[_Union[Departure, _Mapping]]] = ...) -> None: ...

class RemoveSegments(_message.Message):
    __slots__ = ("segments",)
    SEGMENTS_FIELD_NUMBER: _ClassVar[int]
    segments: _containers.RepeatedCompositeFieldContainer[SeenSegment]
    def __init__(self, segments: _Optional[_Iterable[_Union[SeenSegment, _Mapping]]] = ...) -> None: ...

class FinishRemovals(_message.Message):
    __slots__ = ("segments",)
    SEGMENTS_FIELD_NUMBER: _ClassVar[int]
    segments: _containers.RepeatedCompositeFieldContainer[SeenSegment]
    def __init__(self, segments: _Optional[_Iterable[_Union[SeenSegment, _Mapping]]] = ...) -> None: ...

class ForgetDrops(_message.Message):
    __slots__ = ("keys",)
    KEYS_FIELD_NUMBER: _ClassVar[int]
    keys: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, keys: _Optional[_Iterable[bytes]] = ...) -> None: ...
