from quorate_storage_engine.v1 import queries_pb2 as _queries_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class LogEndRequest(_message.Message):
    __slots__ = ("segments",)
    SEGMENTS_FIELD_NUMBER: _ClassVar[int]
    segments: _containers.RepeatedCompositeFieldContainer[_queries_pb2.SegmentId]
    def __init__(self, segments: _Optional[_Iterable[_Union[_queries_pb2.SegmentId, _Mapping]]] = ...) -> None: ...

class LogEndResponse(_message.Message):
    __slots__ = ("engine", "broker_epoch", "log_ends")
    ENGINE_FIELD_NUMBER: _ClassVar[int]
    BROKER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    LOG_ENDS_FIELD_NUMBER: _ClassVar[int]
    engine: str
    broker_epoch: int
    log_ends: _containers.RepeatedCompositeFieldContainer[LogEnd]
    def __init__(self, engine: _Optional[str] = ..., broker_epoch: _Optional[int] = ..., log_ends: _Optional[_Iterable[_Union[LogEnd, _Mapping]]] = ...) -> None: ...

class LogEnd(_message.Message):
    __slots__ = ("segment", "shard_uid", "offset", "leader_epoch", "log_start")
    SEGMENT_FIELD_NUMBER: _ClassVar[int]
    SHARD_UID_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    LEADER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    LOG_START_FIELD_NUMBER: _ClassVar[int]
    segment: _queries_pb2.SegmentId
    shard_uid: int
    offset: int
    leader_epoch: int
    log_start: int
    def __init__(self, segment: _Optional[_Union[_queries_pb2.SegmentId, _Mapping]] = ..., shard_uid: _Optional[int] = ..., offset: _Optional[int] = ..., leader_epoch: _Optional[int] = ..., log_start: _Optional[int] = ...) -> None: ...
