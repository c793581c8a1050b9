from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class StorageType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    STORAGE_TYPE_UNSPECIFIED: _ClassVar[StorageType]
    STORAGE_TYPE_MEMORY: _ClassVar[StorageType]
    STORAGE_TYPE_SEGMENT: _ClassVar[StorageType]
    STORAGE_TYPE_ROCKSDB: _ClassVar[StorageType]
    STORAGE_TYPE_MYSQL: _ClassVar[StorageType]
    STORAGE_TYPE_MINIO: _ClassVar[StorageType]
    STORAGE_TYPE_S3: _ClassVar[StorageType]

class ShardStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SHARD_STATUS_UNSPECIFIED: _ClassVar[ShardStatus]
    SHARD_STATUS_RUNNING: _ClassVar[ShardStatus]
    SHARD_STATUS_DELETING: _ClassVar[ShardStatus]

class SegmentStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SEGMENT_STATUS_UNSPECIFIED: _ClassVar[SegmentStatus]
    SEGMENT_STATUS_WRITING: _ClassVar[SegmentStatus]
    SEGMENT_STATUS_SEALED: _ClassVar[SegmentStatus]
    SEGMENT_STATUS_DELETING: _ClassVar[SegmentStatus]
STORAGE_TYPE_UNSPECIFIED: StorageType
STORAGE_TYPE_MEMORY: StorageType
STORAGE_TYPE_SEGMENT: StorageType
STORAGE_TYPE_ROCKSDB: StorageType
STORAGE_TYPE_MYSQL: StorageType
STORAGE_TYPE_MINIO: StorageType
STORAGE_TYPE_S3: StorageType
SHARD_STATUS_UNSPECIFIED: ShardStatus
SHARD_STATUS_RUNNING: ShardStatus
SHARD_STATUS_DELETING: ShardStatus
SEGMENT_STATUS_UNSPECIFIED: SegmentStatus
SEGMENT_STATUS_WRITING: SegmentStatus
SEGMENT_STATUS_SEALED: SegmentStatus
SEGMENT_STATUS_DELETING: SegmentStatus

class ShardConfig(_message.Message):
    __slots__ = ("replicas", "min_in_sync_replicas", "storage", "max_segment_bytes", "max_segment_records", "retention_s", "allow_fewer_replicas")
    REPLICAS_FIELD_NUMBER: _ClassVar[int]
    MIN_IN_SYNC_REPLICAS_FIELD_NUMBER: _ClassVar[int]
    STORAGE_FIELD_NUMBER: _ClassVar[int]
    MAX_SEGMENT_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_SEGMENT_RECORDS_FIELD_NUMBER: _ClassVar[int]
    RETENTION_S_FIELD_NUMBER: _ClassVar[int]
    ALLOW_FEWER_REPLICAS_FIELD_NUMBER: _ClassVar[int]
    replicas: int
    min_in_sync_replicas: int
    storage: StorageType
    max_segment_bytes: int
    max_segment_records: int
    retention_s: int
    allow_fewer_replicas: bool
    def __init__(self, replicas: _Optional[int] = ..., min_in_sync_replicas: _Optional[int] = ..., storage: _Optional[_Union[StorageType, str]] = ..., max_segment_bytes: _Optional[int] = ..., max_segment_records: _Optional[int] = ..., retention_s: _Optional[int] = ..., allow_fewer_replicas: bool = ...) -> None: ...

class Shard(_message.Message):
    __slots__ = ("name", "uid", "tenant", "topic", "description", "config", "status", "start_segment", "active_segment", "segments", "created_at_ms", "deleting_at_ms")
    NAME_FIELD_NUMBER: _ClassVar[int]
    UID_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    CONFIG_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    START_SEGMENT_FIELD_NUMBER: _ClassVar[int]
    ACTIVE_SEGMENT_FIELD_NUMBER: _ClassVar[int]
    SEGMENTS_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    DELETING_AT_MS_FIELD_NUMBER: _ClassVar[int]
    name: str
    uid: int
    tenant: str
    topic: str
    description: str
    config: ShardConfig
    status: ShardStatus
    start_segment: int
    active_segment: int
    segments: int
    created_at_ms: int
    deleting_at_ms: int
    def __init__(self, name: _Optional[str] = ..., uid: _Optional[int] = ..., tenant: _Optional[str] = ..., topic: _Optional[str] = ..., description: _Optional[str] = ..., config: _Optional[_Union[ShardConfig, _Mapping]] = ..., status: _Optional[_Union[ShardStatus, str]] = ..., start_segment: _Optional[int] = ..., active_segment: _Optional[int] = ..., segments: _Optional[int] = ..., created_at_ms: _Optional[int] = ..., deleting_at_ms: _Optional[int] = ...) -> None: ...

class Segment(_message.Message):
    __slots__ = ("shard", "shard_uid", "number", "status", "replicas", "isr", "last_known_isr", "leader", "leader_broker_epoch", "leader_epoch", "segment_epoch", "wanted_replicas", "start_offset", "end_offset", "start_timestamp_ms", "end_timestamp_ms", "created_at_ms", "drops", "unclean_elections")
    SHARD_FIELD_NUMBER: _ClassVar[int]
    SHARD_UID_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    REPLICAS_FIELD_NUMBER: _ClassVar[int]
    ISR_FIELD_NUMBER: _ClassVar[int]
    LAST_KNOWN_ISR_FIELD_NUMBER: _ClassVar[int]
    LEADER_FIELD_NUMBER: _ClassVar[int]
    LEADER_BROKER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    LEADER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    SEGMENT_EPOCH_FIELD_NUMBER: _ClassVar[int]
    WANTED_REPLICAS_FIELD_NUMBER: _ClassVar[int]
    START_OFFSET_FIELD_NUMBER: _ClassVar[int]
    END_OFFSET_FIELD_NUMBER: _ClassVar[int]
    START_TIMESTAMP_MS_FIELD_NUMBER: _ClassVar[int]
    END_TIMESTAMP_MS_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    DROPS_FIELD_NUMBER: _ClassVar[int]
    UNCLEAN_ELECTIONS_FIELD_NUMBER: _ClassVar[int]
    shard: str
    shard_uid: int
    number: int
    status: SegmentStatus
    replicas: _containers.RepeatedScalarFieldContainer[str]
    isr: _containers.RepeatedScalarFieldContainer[str]
    last_known_isr: _containers.RepeatedScalarFieldContainer[str]
    leader: str
    leader_broker_epoch: int
    leader_epoch: int
    segment_epoch: int
    wanted_replicas: int
    start_offset: int
    end_offset: int
    start_timestamp_ms: int
    end_timestamp_ms: int
    created_at_ms: int
    drops: _containers.RepeatedScalarFieldContainer[str]
    unclean_elections: int
    def __init__(self, shard: _Optional[str] = ..., shard_uid: _Optional[int] = ..., number: _Optional[int] = ..., status: _Optional[_Union[SegmentStatus, str]] = ..., replicas: _Optional[_Iterable[str]] = ..., isr: _Optional[_Iterable[str]] = ..., last_known_isr: _Optional[_Iterable[str]] = ..., leader: _Optional[str] = ..., leader_broker_epoch: _Optional[int] = ..., leader_epoch: _Optional[int] = ..., segment_epoch: _Optional[int] = ..., wanted_replicas: _Optional[int] = ..., start_offset: _Optional[int] = ..., end_offset: _Optional[int] = ..., start_timestamp_ms: _Optional[int] = ..., end_timestamp_ms: _Optional[int] = ..., created_at_ms: _Optional[int] = ..., drops: _Optional[_Iterable[str]] = ..., unclean_elections: _Optional[int] = ...) -> None: ...

class Engine(_message.Message):
    __slots__ = ("name", "replicas", "leaderships", "decommissioned_at_ms")
    NAME_FIELD_NUMBER: _ClassVar[int]
    REPLICAS_FIELD_NUMBER: _ClassVar[int]
    LEADERSHIPS_FIELD_NUMBER: _ClassVar[int]
    DECOMMISSIONED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    name: str
    replicas: int
    leaderships: int
    decommissioned_at_ms: int
    def __init__(self, name: _Optional[str] = ..., replicas: _Optional[int] = ..., leaderships: _Optional[int] = ..., decommissioned_at_ms: _Optional[int] = ...) -> None: ...

class Drop(_message.Message):
    __slots__ = ("engine", "shard", "shard_uid", "segment", "requested_at_ms", "segment_epoch")
    ENGINE_FIELD_NUMBER: _ClassVar[int]
    SHARD_FIELD_NUMBER: _ClassVar[int]
    SHARD_UID_FIELD_NUMBER: _ClassVar[int]
    SEGMENT_FIELD_NUMBER: _ClassVar[int]
    REQUESTED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    SEGMENT_EPOCH_FIELD_NUMBER: _ClassVar[int]
    engine: str
    shard: str
    shard_uid: int
    segment: int
    requested_at_ms: int
    segment_epoch: int
    def __init__(self, engine: _Optional[str] = ..., shard: _Optional[str] = ..., shard_uid: _Optional[int] = ..., segment: _Optional[int] = ..., requested_at_ms: _Optional[int] = ..., segment_epoch: _Optional[int] = ...) -> None: ...
