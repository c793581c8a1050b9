from google.protobuf import empty_pb2 as _empty_pb2
from google.protobuf import field_mask_pb2 as _field_mask_pb2
from quorate.v1 import batch_pb2 as _batch_pb2
from quorate_mqtt.v1 import definitions_pb2 as _definitions_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AutoSubscription(_message.Message):
    __slots__ = ("tenant", "name", "description", "topic", "qos", "no_local", "retain_as_published", "retain_handling", "created_at_ms", "updated_at_ms")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    QOS_FIELD_NUMBER: _ClassVar[int]
    NO_LOCAL_FIELD_NUMBER: _ClassVar[int]
    RETAIN_AS_PUBLISHED_FIELD_NUMBER: _ClassVar[int]
    RETAIN_HANDLING_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    name: str
    description: str
    topic: str
    qos: int
    no_local: bool
    retain_as_published: bool
    retain_handling: int
    created_at_ms: int
    updated_at_ms: int
    def __init__(self, tenant: _Optional[str] = ..., name: _Optional[str] = ..., description: _Optional[str] = ..., topic: _Optional[str] = ..., qos: _Optional[int] = ..., no_local: bool = ..., retain_as_published: bool = ..., retain_handling: _Optional[int] = ..., created_at_ms: _Optional[int] = ..., updated_at_ms: _Optional[int] = ...) -> None: ...

class AutoSubscriptionRequest(_message.Message):
    __slots__ = ("definition", "update_mask")
    DEFINITION_FIELD_NUMBER: _ClassVar[int]
    UPDATE_MASK_FIELD_NUMBER: _ClassVar[int]
    definition: AutoSubscription
    update_mask: _field_mask_pb2.FieldMask
    def __init__(self, definition: _Optional[_Union[AutoSubscription, _Mapping]] = ..., update_mask: _Optional[_Union[_field_mask_pb2.FieldMask, _Mapping]] = ...) -> None: ...

class CreateAutoSubscriptions(_message.Message):
    __slots__ = ("subscriptions",)
    SUBSCRIPTIONS_FIELD_NUMBER: _ClassVar[int]
    subscriptions: _containers.RepeatedCompositeFieldContainer[AutoSubscription]
    def __init__(self, subscriptions: _Optional[_Iterable[_Union[AutoSubscription, _Mapping]]] = ...) -> None: ...

class UpdateAutoSubscriptions(_message.Message):
    __slots__ = ("subscriptions", "update_mask")
    SUBSCRIPTIONS_FIELD_NUMBER: _ClassVar[int]
    UPDATE_MASK_FIELD_NUMBER: _ClassVar[int]
    subscriptions: _containers.RepeatedCompositeFieldContainer[AutoSubscription]
    update_mask: _field_mask_pb2.FieldMask
    def __init__(self, subscriptions: _Optional[_Iterable[_Union[AutoSubscription, _Mapping]]] = ..., update_mask: _Optional[_Union[_field_mask_pb2.FieldMask, _Mapping]] = ...) -> None: ...

class PutAutoSubscriptions(_message.Message):
    __slots__ = ("subscriptions",)
    SUBSCRIPTIONS_FIELD_NUMBER: _ClassVar[int]
    subscriptions: _containers.RepeatedCompositeFieldContainer[AutoSubscription]
    def __init__(self, subscriptions: _Optional[_Iterable[_Union[AutoSubscription, _Mapping]]] = ...) -> None: ...

class DeleteAutoSubscriptions(_message.Message):
    __slots__ = ("names",)
    NAMES_FIELD_NUMBER: _ClassVar[int]
    names: _containers.RepeatedCompositeFieldContainer[_definitions_pb2.DefinitionName]
    def __init__(self, names: _Optional[_Iterable[_Union[_definitions_pb2.DefinitionName, _Mapping]]] = ...) -> None: ...

class ListAutoSubscriptionsRequest(_message.Message):
    __slots__ = ("tenant", "prefix", "page_size", "page_token")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    prefix: str
    page_size: int
    page_token: bytes
    def __init__(self, tenant: _Optional[str] = ..., prefix: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[bytes] = ...) -> None: ...

class AutoSubscriptionPage(_message.Message):
    __slots__ = ("subscriptions", "next_page_token")
    SUBSCRIPTIONS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    subscriptions: _containers.RepeatedCompositeFieldContainer[AutoSubscription]
    next_page_token: bytes
    def __init__(self, subscriptions: _Optional[_Iterable[_Union[AutoSubscription, _Mapping]]] = ..., next_page_token: _Optional[bytes] = ...) -> None: ...

class AutoSubscriptionLookups(_message.Message):
    __slots__ = ("lookups",)
    LOOKUPS_FIELD_NUMBER: _ClassVar[int]
    lookups: _containers.RepeatedCompositeFieldContainer[AutoSubscriptionLookup]
    def __init__(self, lookups: _Optional[_Iterable[_Union[AutoSubscriptionLookup, _Mapping]]] = ...) -> None: ...

class AutoSubscriptionLookup(_message.Message):
    __slots__ = ("definition",)
    DEFINITION_FIELD_NUMBER: _ClassVar[int]
    definition: AutoSubscription
    def __init__(self, definition: _Optional[_Union[AutoSubscription, _Mapping]] = ...) -> None: ...
