from quorate_storage_engine.v1 import commands_pb2 as _commands_pb2
from quorate_storage_engine.v1 import rows_pb2 as _rows_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class GetShardQuery(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class ListShardsQuery(_message.Message):
    __slots__ = ("name_prefix", "tenant", "topic", "after_name", "limit")
    NAME_PREFIX_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    AFTER_NAME_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    name_prefix: str
    tenant: str
    topic: str
    after_name: str
    limit: int
    def __init__(self, name_prefix: _Optional[str] = ..., tenant: _Optional[str] = ..., topic: _Optional[str] = ..., after_name: _Optional[str] = ..., limit: _Optional[int] = ...) -> None: ...

class SegmentId(_message.Message):
    __slots__ = ("shard", "segment")
    SHARD_FIELD_NUMBER: _ClassVar[int]
    SEGMENT_FIELD_NUMBER: _ClassVar[int]
    shard: str
    segment: int
    def __init__(self, shard: _Optional[str] = ..., segment: _Optional[int] = ...) -> None: ...

class GetSegmentsQuery(_message.Message):
    __slots__ = ("segments",)
    SEGMENTS_FIELD_NUMBER: _ClassVar[int]
    segments: _containers.RepeatedCompositeFieldContainer[SegmentId]
    def __init__(self, segments: _Optional[_Iterable[_Union[SegmentId, _Mapping]]] = ...) -> None: ...

class ListSegmentsQuery(_message.Message):
    __slots__ = ("shard", "engine", "unavailable", "under_replicated", "after", "limit")
    SHARD_FIELD_NUMBER: _ClassVar[int]
    ENGINE_FIELD_NUMBER: _ClassVar[int]
    UNAVAILABLE_FIELD_NUMBER: _ClassVar[int]
    UNDER_REPLICATED_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    shard: str
    engine: str
    unavailable: bool
    under_replicated: bool
    after: SegmentId
    limit: int
    def __init__(self, shard: _Optional[str] = ..., engine: _Optional[str] = ..., unavailable: bool = ..., under_replicated: bool = ..., after: _Optional[_Union[SegmentId, _Mapping]] = ..., limit: _Optional[int] = ...) -> None: ...

class ListEnginesQuery(_message.Message):
    __slots__ = ("after_name", "limit")
    AFTER_NAME_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    after_name: str
    limit: int
    def __init__(self, after_name: _Optional[str] = ..., limit: _Optional[int] = ...) -> None: ...

class EngineState(_message.Message):
    __slots__ = ("engine", "broker_epoch", "rack")
    ENGINE_FIELD_NUMBER: _ClassVar[int]
    BROKER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    RACK_FIELD_NUMBER: _ClassVar[int]
    engine: _rows_pb2.Engine
    broker_epoch: int
    rack: str
    def __init__(self, engine: _Optional[_Union[_rows_pb2.Engine, _Mapping]] = ..., broker_epoch: _Optional[int] = ..., rack: _Optional[str] = ...) -> None: ...

class ListDropsQuery(_message.Message):
    __slots__ = ("engine", "older_than_ms", "after", "limit")
    ENGINE_FIELD_NUMBER: _ClassVar[int]
    OLDER_THAN_MS_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    engine: str
    older_than_ms: int
    after: _rows_pb2.Drop
    limit: int
    def __init__(self, engine: _Optional[str] = ..., older_than_ms: _Optional[int] = ..., after: _Optional[_Union[_rows_pb2.Drop, _Mapping]] = ..., limit: _Optional[int] = ...) -> None: ...

class GetHealthQuery(_message.Message):
    __slots__ = ("overdue_after_ms",)
    OVERDUE_AFTER_MS_FIELD_NUMBER: _ClassVar[int]
    overdue_after_ms: int
    def __init__(self, overdue_after_ms: _Optional[int] = ...) -> None: ...

class Health(_message.Message):
    __slots__ = ("unavailable_segments", "thin_segments", "overdue_drops")
    UNAVAILABLE_SEGMENTS_FIELD_NUMBER: _ClassVar[int]
    THIN_SEGMENTS_FIELD_NUMBER: _ClassVar[int]
    OVERDUE_DROPS_FIELD_NUMBER: _ClassVar[int]
    unavailable_segments: int
    thin_segments: int
    overdue_drops: _containers.RepeatedCompositeFieldContainer[OverdueDrops]
    def __init__(self, unavailable_segments: _Optional[int] = ..., thin_segments: _Optional[int] = ..., overdue_drops: _Optional[_Iterable[_Union[OverdueDrops, _Mapping]]] = ...) -> None: ...

class OverdueDrops(_message.Message):
    __slots__ = ("engine", "drops")
    ENGINE_FIELD_NUMBER: _ClassVar[int]
    DROPS_FIELD_NUMBER: _ClassVar[int]
    engine: str
    drops: int
    def __init__(self, engine: _Optional[str] = ..., drops: _Optional[int] = ...) -> None: ...

class FindOrphansQuery(_message.Message):
    __slots__ = ("limit",)
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    limit: int
    def __init__(self, limit: _Optional[int] = ...) -> None: ...

class FindRecoverableQuery(_message.Message):
    __slots__ = ("limit", "after")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    limit: int
    after: SegmentId
    def __init__(self, limit: _Optional[int] = ..., after: _Optional[_Union[SegmentId, _Mapping]] = ...) -> None: ...

class RecoverableSegment(_message.Message):
    __slots__ = ("segment", "candidates")
    SEGMENT_FIELD_NUMBER: _ClassVar[int]
    CANDIDATES_FIELD_NUMBER: _ClassVar[int]
    segment: _rows_pb2.Segment
    candidates: _containers.RepeatedCompositeFieldContainer[Candidate]
    def __init__(self, segment: _Optional[_Union[_rows_pb2.Segment, _Mapping]] = ..., candidates: _Optional[_Iterable[_Union[Candidate, _Mapping]]] = ...) -> None: ...

class Candidate(_message.Message):
    __slots__ = ("engine", "broker_epoch", "address")
    ENGINE_FIELD_NUMBER: _ClassVar[int]
    BROKER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    engine: str
    broker_epoch: int
    address: str
    def __init__(self, engine: _Optional[str] = ..., broker_epoch: _Optional[int] = ..., address: _Optional[str] = ...) -> None: ...

class FindDisplacedQuery(_message.Message):
    __slots__ = ("limit", "after")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    limit: int
    after: SegmentId
    def __init__(self, limit: _Optional[int] = ..., after: _Optional[_Union[SegmentId, _Mapping]] = ...) -> None: ...

class LeaderMove(_message.Message):
    __slots__ = ("seen", "leader", "preferred")
    SEEN_FIELD_NUMBER: _ClassVar[int]
    LEADER_FIELD_NUMBER: _ClassVar[int]
    PREFERRED_FIELD_NUMBER: _ClassVar[int]
    seen: _commands_pb2.SeenSegment
    leader: str
    preferred: str
    def __init__(self, seen: _Optional[_Union[_commands_pb2.SeenSegment, _Mapping]] = ..., leader: _Optional[str] = ..., preferred: _Optional[str] = ...) -> None: ...

class FindThinQuery(_message.Message):
    __slots__ = ("limit", "after")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    limit: int
    after: SegmentId
    def __init__(self, limit: _Optional[int] = ..., after: _Optional[_Union[SegmentId, _Mapping]] = ...) -> None: ...

class FindDeparturesQuery(_message.Message):
    __slots__ = ("limit", "after")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    limit: int
    after: _commands_pb2.Departure
    def __init__(self, limit: _Optional[int] = ..., after: _Optional[_Union[_commands_pb2.Departure, _Mapping]] = ...) -> None: ...

class FindRemovableQuery(_message.Message):
    __slots__ = ("limit", "after")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    limit: int
    after: SegmentId
    def __init__(self, limit: _Optional[int] = ..., after: _Optional[_Union[SegmentId, _Mapping]] = ...) -> None: ...

class FindAbandonedQuery(_message.Message):
    __slots__ = ("limit", "after")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    limit: int
    after: SegmentId
    def __init__(self, limit: _Optional[int] = ..., after: _Optional[_Union[SegmentId, _Mapping]] = ...) -> None: ...

class FindLostDropsQuery(_message.Message):
    __slots__ = ("limit",)
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    limit: int
    def __init__(self, limit: _Optional[int] = ...) -> None: ...
