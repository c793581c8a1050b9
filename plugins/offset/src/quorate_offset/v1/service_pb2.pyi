from quorate.v1 import batch_pb2 as _batch_pb2
from quorate_offset.v1 import commands_pb2 as _commands_pb2
from quorate_offset.v1 import queries_pb2 as _queries_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class CommitOffsetRequest(_message.Message):
    __slots__ = ("tenant", "group", "commit", "mode", "generation")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    COMMIT_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    group: str
    commit: _commands_pb2.OffsetCommit
    mode: _commands_pb2.CommitMode
    generation: int
    def __init__(self, tenant: _Optional[str] = ..., group: _Optional[str] = ..., commit: _Optional[_Union[_commands_pb2.OffsetCommit, _Mapping]] = ..., mode: _Optional[_Union[_commands_pb2.CommitMode, str]] = ..., generation: _Optional[int] = ...) -> None: ...

class CommitOffsetResponse(_message.Message):
    __slots__ = ("revision",)
    REVISION_FIELD_NUMBER: _ClassVar[int]
    revision: _batch_pb2.ShardRevision
    def __init__(self, revision: _Optional[_Union[_batch_pb2.ShardRevision, _Mapping]] = ...) -> None: ...

class CommitOffsetsRequest(_message.Message):
    __slots__ = ("groups",)
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    groups: _containers.RepeatedCompositeFieldContainer[_commands_pb2.GroupCommit]
    def __init__(self, groups: _Optional[_Iterable[_Union[_commands_pb2.GroupCommit, _Mapping]]] = ...) -> None: ...

class CommitOffsetsResponse(_message.Message):
    __slots__ = ("refusals", "revisions")
    REFUSALS_FIELD_NUMBER: _ClassVar[int]
    REVISIONS_FIELD_NUMBER: _ClassVar[int]
    refusals: _containers.RepeatedCompositeFieldContainer[OffsetRefusal]
    revisions: _containers.RepeatedCompositeFieldContainer[_batch_pb2.ShardRevision]
    def __init__(self, refusals: _Optional[_Iterable[_Union[OffsetRefusal, _Mapping]]] = ..., revisions: _Optional[_Iterable[_Union[_batch_pb2.ShardRevision, _Mapping]]] = ...) -> None: ...

class OffsetRefusal(_message.Message):
    __slots__ = ("group", "commit", "code", "message")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    COMMIT_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    group: int
    commit: int
    code: str
    message: str
    def __init__(self, group: _Optional[int] = ..., commit: _Optional[int] = ..., code: _Optional[str] = ..., message: _Optional[str] = ...) -> None: ...

class FenceGroupRequest(_message.Message):
    __slots__ = ("tenant", "group", "generation")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    group: str
    generation: int
    def __init__(self, tenant: _Optional[str] = ..., group: _Optional[str] = ..., generation: _Optional[int] = ...) -> None: ...

class FenceGroupResponse(_message.Message):
    __slots__ = ("revision",)
    REVISION_FIELD_NUMBER: _ClassVar[int]
    revision: _batch_pb2.ShardRevision
    def __init__(self, revision: _Optional[_Union[_batch_pb2.ShardRevision, _Mapping]] = ...) -> None: ...

class FenceGroupsRequest(_message.Message):
    __slots__ = ("fences",)
    FENCES_FIELD_NUMBER: _ClassVar[int]
    fences: _containers.RepeatedCompositeFieldContainer[_commands_pb2.GroupFence]
    def __init__(self, fences: _Optional[_Iterable[_Union[_commands_pb2.GroupFence, _Mapping]]] = ...) -> None: ...

class FenceGroupsResponse(_message.Message):
    __slots__ = ("refusals", "revisions")
    REFUSALS_FIELD_NUMBER: _ClassVar[int]
    REVISIONS_FIELD_NUMBER: _ClassVar[int]
    refusals: _containers.RepeatedCompositeFieldContainer[_batch_pb2.ItemRefusal]
    revisions: _containers.RepeatedCompositeFieldContainer[_batch_pb2.ShardRevision]
    def __init__(self, refusals: _Optional[_Iterable[_Union[_batch_pb2.ItemRefusal, _Mapping]]] = ..., revisions: _Optional[_Iterable[_Union[_batch_pb2.ShardRevision, _Mapping]]] = ...) -> None: ...

class ResetOffsetsRequest(_message.Message):
    __slots__ = ("resets",)
    RESETS_FIELD_NUMBER: _ClassVar[int]
    resets: _containers.RepeatedCompositeFieldContainer[ResetRequest]
    def __init__(self, resets: _Optional[_Iterable[_Union[ResetRequest, _Mapping]]] = ...) -> None: ...

class ResetRequest(_message.Message):
    __slots__ = ("tenant", "group", "to_offset", "to_offsets", "to_group", "generation")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    TO_OFFSET_FIELD_NUMBER: _ClassVar[int]
    TO_OFFSETS_FIELD_NUMBER: _ClassVar[int]
    TO_GROUP_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    group: str
    to_offset: _commands_pb2.ResetToOffset
    to_offsets: _commands_pb2.OffsetList
    to_group: ResetToGroup
    generation: int
    def __init__(self, tenant: _Optional[str] = ..., group: _Optional[str] = ..., to_offset: _Optional[_Union[_commands_pb2.ResetToOffset, _Mapping]] = ..., to_offsets: _Optional[_Union[_commands_pb2.OffsetList, _Mapping]] = ..., to_group: _Optional[_Union[ResetToGroup, _Mapping]] = ..., generation: _Optional[int] = ...) -> None: ...

class ResetToGroup(_message.Message):
    __slots__ = ("group", "topic", "partition")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    group: str
    topic: str
    partition: int
    def __init__(self, group: _Optional[str] = ..., topic: _Optional[str] = ..., partition: _Optional[int] = ...) -> None: ...

class ResetOffsetsResponse(_message.Message):
    __slots__ = ("offsets", "refusals", "revisions")
    OFFSETS_FIELD_NUMBER: _ClassVar[int]
    REFUSALS_FIELD_NUMBER: _ClassVar[int]
    REVISIONS_FIELD_NUMBER: _ClassVar[int]
    offsets: _containers.RepeatedScalarFieldContainer[int]
    refusals: _containers.RepeatedCompositeFieldContainer[_batch_pb2.ItemRefusal]
    revisions: _containers.RepeatedCompositeFieldContainer[_batch_pb2.ShardRevision]
    def __init__(self, offsets: _Optional[_Iterable[int]] = ..., refusals: _Optional[_Iterable[_Union[_batch_pb2.ItemRefusal, _Mapping]]] = ..., revisions: _Optional[_Iterable[_Union[_batch_pb2.ShardRevision, _Mapping]]] = ...) -> None: ...

class DeleteOffsetsRequest(_message.Message):
    __slots__ = ("deletions",)
    DELETIONS_FIELD_NUMBER: _ClassVar[int]
    deletions: _containers.RepeatedCompositeFieldContainer[_commands_pb2.OffsetDeletion]
    def __init__(self, deletions: _Optional[_Iterable[_Union[_commands_pb2.OffsetDeletion, _Mapping]]] = ...) -> None: ...

class DeleteOffsetsResponse(_message.Message):
    __slots__ = ("offsets", "refusals", "revisions")
    OFFSETS_FIELD_NUMBER: _ClassVar[int]
    REFUSALS_FIELD_NUMBER: _ClassVar[int]
    REVISIONS_FIELD_NUMBER: _ClassVar[int]
    offsets: _containers.RepeatedScalarFieldContainer[int]
    refusals: _containers.RepeatedCompositeFieldContainer[_batch_pb2.ItemRefusal]
    revisions: _containers.RepeatedCompositeFieldContainer[_batch_pb2.ShardRevision]
    def __init__(self, offsets: _Optional[_Iterable[int]] = ..., refusals: _Optional[_Iterable[_Union[_batch_pb2.ItemRefusal, _Mapping]]] = ..., revisions: _Optional[_Iterable[_Union[_batch_pb2.ShardRevision, _Mapping]]] = ...) -> None: ...

class FetchOffsetsRequest(_message.Message):
    __slots__ = ("tenant", "group", "partitions", "topic", "stale", "min_revision")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    STALE_FIELD_NUMBER: _ClassVar[int]
    MIN_REVISION_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    group: str
    partitions: _containers.RepeatedCompositeFieldContainer[_queries_pb2.TopicPartition]
    topic: str
    stale: bool
    min_revision: int
    def __init__(self, tenant: _Optional[str] = ..., group: _Optional[str] = ..., partitions: _Optional[_Iterable[_Union[_queries_pb2.TopicPartition, _Mapping]]] = ..., topic: _Optional[str] = ..., stale: bool = ..., min_revision: _Optional[int] = ...) -> None: ...

class FetchOffsetsResponse(_message.Message):
    __slots__ = ("group", "age_ms")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    AGE_MS_FIELD_NUMBER: _ClassVar[int]
    group: _queries_pb2.GroupOffsets
    age_ms: int
    def __init__(self, group: _Optional[_Union[_queries_pb2.GroupOffsets, _Mapping]] = ..., age_ms: _Optional[int] = ...) -> None: ...

class FetchGroupsRequest(_message.Message):
    __slots__ = ("groups", "stale")
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    STALE_FIELD_NUMBER: _ClassVar[int]
    groups: _containers.RepeatedCompositeFieldContainer[_queries_pb2.GroupName]
    stale: bool
    def __init__(self, groups: _Optional[_Iterable[_Union[_queries_pb2.GroupName, _Mapping]]] = ..., stale: bool = ...) -> None: ...

class FetchGroupsResponse(_message.Message):
    __slots__ = ("groups", "age_ms", "refusals")
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    AGE_MS_FIELD_NUMBER: _ClassVar[int]
    REFUSALS_FIELD_NUMBER: _ClassVar[int]
    groups: _containers.RepeatedCompositeFieldContainer[_queries_pb2.GroupOffsets]
    age_ms: int
    refusals: _containers.RepeatedCompositeFieldContainer[_batch_pb2.ItemRefusal]
    def __init__(self, groups: _Optional[_Iterable[_Union[_queries_pb2.GroupOffsets, _Mapping]]] = ..., age_ms: _Optional[int] = ..., refusals: _Optional[_Iterable[_Union[_batch_pb2.ItemRefusal, _Mapping]]] = ...) -> None: ...

class LagRequest(_message.Message):
    __slots__ = ("tenant", "group", "ends", "stale")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    ENDS_FIELD_NUMBER: _ClassVar[int]
    STALE_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    group: str
    ends: _containers.RepeatedCompositeFieldContainer[_commands_pb2.PartitionOffset]
    stale: bool
    def __init__(self, tenant: _Optional[str] = ..., group: _Optional[str] = ..., ends: _Optional[_Iterable[_Union[_commands_pb2.PartitionOffset, _Mapping]]] = ..., stale: bool = ...) -> None: ...

class LagResponse(_message.Message):
    __slots__ = ("partitions", "lag", "age_ms")
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    LAG_FIELD_NUMBER: _ClassVar[int]
    AGE_MS_FIELD_NUMBER: _ClassVar[int]
    partitions: _containers.RepeatedCompositeFieldContainer[PartitionLag]
    lag: int
    age_ms: int
    def __init__(self, partitions: _Optional[_Iterable[_Union[PartitionLag, _Mapping]]] = ..., lag: _Optional[int] = ..., age_ms: _Optional[int] = ...) -> None: ...

class PartitionLag(_message.Message):
    __slots__ = ("topic", "partition", "offset", "end_offset", "lag")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    END_OFFSET_FIELD_NUMBER: _ClassVar[int]
    LAG_FIELD_NUMBER: _ClassVar[int]
    topic: str
    partition: int
    offset: int
    end_offset: int
    lag: int
    def __init__(self, topic: _Optional[str] = ..., partition: _Optional[int] = ..., offset: _Optional[int] = ..., end_offset: _Optional[int] = ..., lag: _Optional[int] = ...) -> None: ...

class GetGroupStateRequest(_message.Message):
    __slots__ = ("tenant", "group", "stale")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    STALE_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    group: str
    stale: bool
    def __init__(self, tenant: _Optional[str] = ..., group: _Optional[str] = ..., stale: bool = ...) -> None: ...

class ListGroupStatesRequest(_message.Message):
    __slots__ = ("tenant", "prefix", "page_size", "page_token", "stale")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    STALE_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    prefix: str
    page_size: int
    page_token: bytes
    stale: bool
    def __init__(self, tenant: _Optional[str] = ..., prefix: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[bytes] = ..., stale: bool = ...) -> None: ...

class ListGroupStatesResponse(_message.Message):
    __slots__ = ("groups", "next_page_token", "age_ms")
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    AGE_MS_FIELD_NUMBER: _ClassVar[int]
    groups: _containers.RepeatedCompositeFieldContainer[_queries_pb2.GroupState]
    next_page_token: bytes
    age_ms: int
    def __init__(self, groups: _Optional[_Iterable[_Union[_queries_pb2.GroupState, _Mapping]]] = ..., next_page_token: _Optional[bytes] = ..., age_ms: _Optional[int] = ...) -> None: ...

class ListChangesRequest(_message.Message):
    __slots__ = ("since", "limit", "shards")
    SINCE_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    SHARDS_FIELD_NUMBER: _ClassVar[int]
    since: _containers.RepeatedCompositeFieldContainer[_batch_pb2.ShardRevision]
    limit: int
    shards: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, since: _Optional[_Iterable[_Union[_batch_pb2.ShardRevision, _Mapping]]] = ..., limit: _Optional[int] = ..., shards: _Optional[_Iterable[int]] = ...) -> None: ...
