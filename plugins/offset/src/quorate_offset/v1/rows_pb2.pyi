from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Offset(_message.Message):
    __slots__ = ("offset", "committed_at_ms", "metadata")
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    COMMITTED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    offset: int
    committed_at_ms: int
    metadata: str
    def __init__(self, offset: _Optional[int] = ..., committed_at_ms: _Optional[int] = ..., metadata: _Optional[str] = ...) -> None: ...

class Mark(_message.Message):
    __slots__ = ("generation", "revision", "committed_at_ms", "changed_at_ms", "deleted")
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    COMMITTED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    CHANGED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    DELETED_FIELD_NUMBER: _ClassVar[int]
    generation: int
    revision: int
    committed_at_ms: int
    changed_at_ms: int
    deleted: bool
    def __init__(self, generation: _Optional[int] = ..., revision: _Optional[int] = ..., committed_at_ms: _Optional[int] = ..., changed_at_ms: _Optional[int] = ..., deleted: bool = ...) -> None: ...

class SubscriptionGroup(_message.Message):
    __slots__ = ("tenant", "group", "consume_enable", "consume_from_min_enable", "consume_broadcast_enable", "consume_message_orderly", "retry_queue_nums", "retry_max_times", "broker_id", "which_broker_when_consume_slowly", "notify_consumer_ids_changed_enable", "group_sys_flag", "consume_timeout_minutes", "subscriptions", "attributes", "forbidden", "created_at_ms", "updated_at_ms")
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
    CREATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
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
    subscriptions: _containers.RepeatedCompositeFieldContainer[Subscription]
    attributes: _containers.RepeatedCompositeFieldContainer[Attribute]
    forbidden: _containers.RepeatedCompositeFieldContainer[ForbiddenTopic]
    created_at_ms: int
    updated_at_ms: int
    def __init__(self, tenant: _Optional[str] = ..., group: _Optional[str] = ..., consume_enable: bool = ..., consume_from_min_enable: bool = ..., consume_broadcast_enable: bool = ..., consume_message_orderly: bool = ..., retry_queue_nums: _Optional[int] = ..., retry_max_times: _Optional[int] = ..., broker_id: _Optional[int] = ..., which_broker_when_consume_slowly: _Optional[int] = ..., notify_consumer_ids_changed_enable: bool = ..., group_sys_flag: _Optional[int] = ..., consume_timeout_minutes: _Optional[int] = ..., subscriptions: _Optional[_Iterable[_Union[Subscription, _Mapping]]] = ..., attributes: _Optional[_Iterable[_Union[Attribute, _Mapping]]] = ..., forbidden: _Optional[_Iterable[_Union[ForbiddenTopic, _Mapping]]] = ..., created_at_ms: _Optional[int] = ..., updated_at_ms: _Optional[int] = ...) -> None: ...

class Subscription(_message.Message):
    __slots__ = ("topic", "expression_type", "expression", "version")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    EXPRESSION_TYPE_FIELD_NUMBER: _ClassVar[int]
    EXPRESSION_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    topic: str
    expression_type: str
    expression: str
    version: int
    def __init__(self, topic: _Optional[str] = ..., expression_type: _Optional[str] = ..., expression: _Optional[str] = ..., version: _Optional[int] = ...) -> None: ...

class Attribute(_message.Message):
    __slots__ = ("name", "value")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: str
    def __init__(self, name: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...

class ForbiddenTopic(_message.Message):
    __slots__ = ("topic", "bits")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    BITS_FIELD_NUMBER: _ClassVar[int]
    topic: str
    bits: int
    def __init__(self, topic: _Optional[str] = ..., bits: _Optional[int] = ...) -> None: ...
