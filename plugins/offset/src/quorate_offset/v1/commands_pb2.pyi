from quorate_offset.v1 import rows_pb2 as _rows_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class CommitMode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    COMMIT_MODE_UNSPECIFIED: _ClassVar[CommitMode]
    COMMIT_MODE_UNCONDITIONAL: _ClassVar[CommitMode]
    COMMIT_MODE_MONOTONIC: _ClassVar[CommitMode]
COMMIT_MODE_UNSPECIFIED: CommitMode
COMMIT_MODE_UNCONDITIONAL: CommitMode
COMMIT_MODE_MONOTONIC: CommitMode

class GroupCommit(_message.Message):
    __slots__ = ("tenant", "group", "commits", "mode", "generation")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    COMMITS_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    group: str
    commits: _containers.RepeatedCompositeFieldContainer[OffsetCommit]
    mode: CommitMode
    generation: int
    def __init__(self, tenant: _Optional[str] = ..., group: _Optional[str] = ..., commits: _Optional[_Iterable[_Union[OffsetCommit, _Mapping]]] = ..., mode: _Optional[_Union[CommitMode, str]] = ..., generation: _Optional[int] = ...) -> None: ...

class OffsetCommit(_message.Message):
    __slots__ = ("topic", "partition", "offset", "expected_offset", "metadata")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_OFFSET_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    topic: str
    partition: int
    offset: int
    expected_offset: int
    metadata: str
    def __init__(self, topic: _Optional[str] = ..., partition: _Optional[int] = ..., offset: _Optional[int] = ..., expected_offset: _Optional[int] = ..., metadata: _Optional[str] = ...) -> None: ...

class GroupCommitReply(_message.Message):
    __slots__ = ("refusals",)
    REFUSALS_FIELD_NUMBER: _ClassVar[int]
    refusals: _containers.RepeatedCompositeFieldContainer[CommitRefusal]
    def __init__(self, refusals: _Optional[_Iterable[_Union[CommitRefusal, _Mapping]]] = ...) -> None: ...

class CommitRefusal(_message.Message):
    __slots__ = ("commit", "code", "message")
    COMMIT_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    commit: int
    code: str
    message: str
    def __init__(self, commit: _Optional[int] = ..., code: _Optional[str] = ..., message: _Optional[str] = ...) -> None: ...

class GroupFence(_message.Message):
    __slots__ = ("tenant", "group", "generation")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    group: str
    generation: int
    def __init__(self, tenant: _Optional[str] = ..., group: _Optional[str] = ..., generation: _Optional[int] = ...) -> None: ...

class SetOffsets(_message.Message):
    __slots__ = ("resets",)
    RESETS_FIELD_NUMBER: _ClassVar[int]
    resets: _containers.RepeatedCompositeFieldContainer[OffsetReset]
    def __init__(self, resets: _Optional[_Iterable[_Union[OffsetReset, _Mapping]]] = ...) -> None: ...

class OffsetReset(_message.Message):
    __slots__ = ("tenant", "group", "to_offset", "to_offsets", "generation")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    TO_OFFSET_FIELD_NUMBER: _ClassVar[int]
    TO_OFFSETS_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    group: str
    to_offset: ResetToOffset
    to_offsets: OffsetList
    generation: int
    def __init__(self, tenant: _Optional[str] = ..., group: _Optional[str] = ..., to_offset: _Optional[_Union[ResetToOffset, _Mapping]] = ..., to_offsets: _Optional[_Union[OffsetList, _Mapping]] = ..., generation: _Optional[int] = ...) -> None: ...

class ResetToOffset(_message.Message):
    __slots__ = ("offset", "topic", "partition")
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    offset: int
    topic: str
    partition: int
    def __init__(self, offset: _Optional[int] = ..., topic: _Optional[str] = ..., partition: _Optional[int] = ...) -> None: ...

class OffsetList(_message.Message):
    __slots__ = ("offsets",)
    OFFSETS_FIELD_NUMBER: _ClassVar[int]
    offsets: _containers.RepeatedCompositeFieldContainer[PartitionOffset]
    def __init__(self, offsets: _Optional[_Iterable[_Union[PartitionOffset, _Mapping]]] = ...) -> None: ...

class PartitionOffset(_message.Message):
    __slots__ = ("topic", "partition", "offset")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    topic: str
    partition: int
    offset: int
    def __init__(self, topic: _Optional[str] = ..., partition: _Optional[int] = ..., offset: _Optional[int] = ...) -> None: ...

class OffsetDeletion(_message.Message):
    __slots__ = ("tenant", "group", "topic", "partition")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    group: str
    topic: str
    partition: int
    def __init__(self, tenant: _Optional[str] = ..., group: _Optional[str] = ..., topic: _Optional[str] = ..., partition: _Optional[int] = ...) -> None: ...

class OffsetsChanged(_message.Message):
    __slots__ = ("offsets",)
    OFFSETS_FIELD_NUMBER: _ClassVar[int]
    offsets: int
    def __init__(self, offsets: _Optional[int] = ...) -> None: ...

class SubscriptionGroupChange(_message.Message):
    __slots__ = ("tenant", "group", "consume_enable", "consume_from_min_enable", "consume_broadcast_enable", "consume_message_orderly", "retry_queue_nums", "retry_max_times", "broker_id", "which_broker_when_consume_slowly", "notify_consumer_ids_changed_enable", "group_sys_flag", "consume_timeout_minutes", "subscriptions", "attributes", "forbidden")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    CONSUME_ENABLE_FIELD_NUMBER: _ClassVar[int]
    CONSUME_FROM_MIN_ENABLE_FIELD_NUMBER: _ClassVar[int]
    CONSUME_BROADCAST_ENABLE_FIELD_NUMBER: _ClassVar[int]
    CONSUME_MESSAGE_ORDERLY_FIELD_NUMBER: _ClassVar[int]
    RETRY_QUEUE_NUMS_FIELD_NUMBER: _ClassVar[int]
    RETRY_MAX_TIMES_FIELD_NUMBER: _ClassVar[int]
    BROKER_ID_FIELD_NUMBER: _ClassVar[int]
    WHICH_BROKER_WHEN_CONSUME_SLOWLY_FIELD_NUMBER: _ClassVar[int]
    NOTIFY_CONSUMER_IDS_CHANGED_ENABLE_FIELD_NUMBER: _ClassVar[int]
    GROUP_SYS_FLAG_FIELD_NUMBER: _ClassVar[int]
    CONSUME_TIMEOUT_MINUTES_FIELD_NUMBER: _ClassVar[int]
    SUBSCRIPTIONS_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    FORBIDDEN_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    group: str
    consume_enable: bool
    consume_from_min_enable: bool
    consume_broadcast_enable: bool
    consume_message_orderly: bool
    retry_queue_nums: int
    retry_max_times: int
    broker_id: int
    which_broker_when_consume_slowly: int
    notify_consumer_ids_changed_enable: bool
    group_sys_flag: int
    consume_timeout_minutes: int
    subscriptions: SubscriptionList
    attributes: _containers.RepeatedCompositeFieldContainer[AttributeChange]
    forbidden: _containers.RepeatedCompositeFieldContainer[ForbiddenChange]
    def __init__(self, tenant: _Optional[str] = ..., group: _Optional[str] = ..., consume_enable: bool = ..., consume_from_min_enable: bool = ..., consume_broadcast_enable: bool = ..., consume_message_orderly: bool = ..., retry_queue_nums: _Optional[int] = ..., retry_max_times: _Optional[int] = ..., broker_id: _Optional[int] = ..., which_broker_when_consume_slowly: _Optional[int] = ..., notify_consumer_ids_changed_enable: bool = ..., group_sys_flag: _Optional[int] = ..., consume_timeout_minutes: _Optional[int] = ..., subscriptions: _Optional[_Union[SubscriptionList, _Mapping]] = ..., attributes: _Optional[_Iterable[_Union[AttributeChange, _Mapping]]] = ..., forbidden: _Optional[_Iterable[_Union[ForbiddenChange, _Mapping]]] = ...) -> None: ...

class SubscriptionList(_message.Message):
    __slots__ = ("subscriptions",)
    SUBSCRIPTIONS_FIELD_NUMBER: _ClassVar[int]
    subscriptions: _containers.RepeatedCompositeFieldContainer[_rows_pb2.Subscription]
    def __init__(self, subscriptions: _Optional[_Iterable[_Union[_rows_pb2.Subscription, _Mapping]]] = ...) -> None: ...

class AttributeChange(_message.Message):
    __slots__ = ("name", "value")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: str
    def __init__(self, name: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...

class ForbiddenChange(_message.Message):
    __slots__ = ("topic", "set", "clear")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    SET_FIELD_NUMBER: _ClassVar[int]
    CLEAR_FIELD_NUMBER: _ClassVar[int]
    topic: str
    set: int
    clear: int
    def __init__(self, topic: _Optional[str] = ..., set: _Optional[int] = ..., clear: _Optional[int] = ...) -> None: ...

class PutSubscriptionGroupReply(_message.Message):
    __slots__ = ("group", "unchanged")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    UNCHANGED_FIELD_NUMBER: _ClassVar[int]
    group: _rows_pb2.SubscriptionGroup
    unchanged: bool
    def __init__(self, group: _Optional[_Union[_rows_pb2.SubscriptionGroup, _Mapping]] = ..., unchanged: bool = ...) -> None: ...

class SubscriptionGroupDeletion(_message.Message):
    __slots__ = ("tenant", "group", "offsets", "missing_ok")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    OFFSETS_FIELD_NUMBER: _ClassVar[int]
    MISSING_OK_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    group: str
    offsets: bool
    missing_ok: bool
    def __init__(self, tenant: _Optional[str] = ..., group: _Optional[str] = ..., offsets: bool = ..., missing_ok: bool = ...) -> None: ...

class ExpireGroups(_message.Message):
    __slots__ = ("groups",)
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    groups: _containers.RepeatedCompositeFieldContainer[GroupExpiry]
    def __init__(self, groups: _Optional[_Iterable[_Union[GroupExpiry, _Mapping]]] = ...) -> None: ...

class GroupExpiry(_message.Message):
    __slots__ = ("tenant", "group", "revision")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    group: str
    revision: int
    def __init__(self, tenant: _Optional[str] = ..., group: _Optional[str] = ..., revision: _Optional[int] = ...) -> None: ...
