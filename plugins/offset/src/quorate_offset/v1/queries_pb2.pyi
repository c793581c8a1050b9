from quorate.v1 import batch_pb2 as _batch_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class FetchGroupQuery(_message.Message):
    __slots__ = ("tenant", "group", "partitions", "topic")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    group: str
    partitions: _containers.RepeatedCompositeFieldContainer[TopicPartition]
    topic: str
    def __init__(self, tenant: _Optional[str] = ..., group: _Optional[str] = ..., partitions: _Optional[_Iterable[_Union[TopicPartition, _Mapping]]] = ..., topic: _Optional[str] = ...) -> None: ...

class FetchGroupsQuery(_message.Message):
    __slots__ = ("groups",)
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    groups: _containers.RepeatedCompositeFieldContainer[GroupName]
    def __init__(self, groups: _Optional[_Iterable[_Union[GroupName, _Mapping]]] = ...) -> None: ...

class GroupName(_message.Message):
    __slots__ = ("tenant", "group")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    group: str
    def __init__(self, tenant: _Optional[str] = ..., group: _Optional[str] = ...) -> None: ...

class TopicPartition(_message.Message):
    __slots__ = ("topic", "partition")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    topic: str
    partition: int
    def __init__(self, topic: _Optional[str] = ..., partition: _Optional[int] = ...) -> None: ...

class GroupOffsets(_message.Message):
    __slots__ = ("tenant", "group", "offsets", "revision", "generation")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    OFFSETS_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    group: str
    offsets: _containers.RepeatedCompositeFieldContainer[CommittedOffset]
    revision: int
    generation: int
    def __init__(self, tenant: _Optional[str] = ..., group: _Optional[str] = ..., offsets: _Optional[_Iterable[_Union[CommittedOffset, _Mapping]]] = ..., revision: _Optional[int] = ..., generation: _Optional[int] = ...) -> None: ...

class CommittedOffset(_message.Message):
    __slots__ = ("topic", "partition", "offset", "committed_at_ms", "metadata")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    COMMITTED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    topic: str
    partition: int
    offset: int
    committed_at_ms: int
    metadata: str
    def __init__(self, topic: _Optional[str] = ..., partition: _Optional[int] = ..., offset: _Optional[int] = ..., committed_at_ms: _Optional[int] = ..., metadata: _Optional[str] = ...) -> None: ...

class GetGroupStateQuery(_message.Message):
    __slots__ = ("tenant", "group")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    group: str
    def __init__(self, tenant: _Optional[str] = ..., group: _Optional[str] = ...) -> None: ...

class ListGroupStatesQuery(_message.Message):
    __slots__ = ("tenant", "prefix", "after", "limit")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    prefix: str
    after: GroupName
    limit: int
    def __init__(self, tenant: _Optional[str] = ..., prefix: _Optional[str] = ..., after: _Optional[_Union[GroupName, _Mapping]] = ..., limit: _Optional[int] = ...) -> None: ...

class GroupState(_message.Message):
    __slots__ = ("tenant", "group", "generation", "revision", "shard", "committed_at_ms", "changed_at_ms")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    SHARD_FIELD_NUMBER: _ClassVar[int]
    COMMITTED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    CHANGED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    group: str
    generation: int
    revision: int
    shard: int
    committed_at_ms: int
    changed_at_ms: int
    def __init__(self, tenant: _Optional[str] = ..., group: _Optional[str] = ..., generation: _Optional[int] = ..., revision: _Optional[int] = ..., shard: _Optional[int] = ..., committed_at_ms: _Optional[int] = ..., changed_at_ms: _Optional[int] = ...) -> None: ...

class ListChangesQuery(_message.Message):
    __slots__ = ("since", "limit")
    SINCE_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    since: _containers.RepeatedCompositeFieldContainer[_batch_pb2.ShardRevision]
    limit: int
    def __init__(self, since: _Optional[_Iterable[_Union[_batch_pb2.ShardRevision, _Mapping]]] = ..., limit: _Optional[int] = ...) -> None: ...

class ShardChanges(_message.Message):
    __slots__ = ("shard", "changes", "revision", "more", "resync", "rows_read", "code", "message")
    SHARD_FIELD_NUMBER: _ClassVar[int]
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    MORE_FIELD_NUMBER: _ClassVar[int]
    RESYNC_FIELD_NUMBER: _ClassVar[int]
    ROWS_READ_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    shard: int
    changes: _containers.RepeatedCompositeFieldContainer[GroupChange]
    revision: int
    more: bool
    resync: bool
    rows_read: int
    code: str
    message: str
    def __init__(self, shard: _Optional[int] = ..., changes: _Optional[_Iterable[_Union[GroupChange, _Mapping]]] = ..., revision: _Optional[int] = ..., more: bool = ..., resync: bool = ..., rows_read: _Optional[int] = ..., code: _Optional[str] = ..., message: _Optional[str] = ...) -> None: ...

class GroupChange(_message.Message):
    __slots__ = ("tenant", "group", "revision", "generation", "deleted", "offsets", "partial")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    DELETED_FIELD_NUMBER: _ClassVar[int]
    OFFSETS_FIELD_NUMBER: _ClassVar[int]
    PARTIAL_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    group: str
    revision: int
    generation: int
    deleted: bool
    offsets: _containers.RepeatedCompositeFieldContainer[CommittedOffset]
    partial: bool
    def __init__(self, tenant: _Optional[str] = ..., group: _Optional[str] = ..., revision: _Optional[int] = ..., generation: _Optional[int] = ..., deleted: bool = ..., offsets: _Optional[_Iterable[_Union[CommittedOffset, _Mapping]]] = ..., partial: bool = ...) -> None: ...

class ListIdleGroupsQuery(_message.Message):
    __slots__ = ("shard", "changed_until_ms", "limit")
    SHARD_FIELD_NUMBER: _ClassVar[int]
    CHANGED_UNTIL_MS_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    shard: int
    changed_until_ms: int
    limit: int
    def __init__(self, shard: _Optional[int] = ..., changed_until_ms: _Optional[int] = ..., limit: _Optional[int] = ...) -> None: ...

class IdleGroup(_message.Message):
    __slots__ = ("shard", "tenant", "group", "revision")
    SHARD_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    shard: int
    tenant: str
    group: str
    revision: int
    def __init__(self, shard: _Optional[int] = ..., tenant: _Optional[str] = ..., group: _Optional[str] = ..., revision: _Optional[int] = ...) -> None: ...
