from quorate.v1 import batch_pb2 as _batch_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RetainHandling(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RETAIN_HANDLING_UNSPECIFIED: _ClassVar[RetainHandling]
    RETAIN_HANDLING_ON_EVERY_SUBSCRIBE: _ClassVar[RetainHandling]
    RETAIN_HANDLING_ON_NEW_SUBSCRIBE: _ClassVar[RetainHandling]
    RETAIN_HANDLING_NEVER: _ClassVar[RetainHandling]
RETAIN_HANDLING_UNSPECIFIED: RetainHandling
RETAIN_HANDLING_ON_EVERY_SUBSCRIBE: RetainHandling
RETAIN_HANDLING_ON_NEW_SUBSCRIBE: RetainHandling
RETAIN_HANDLING_NEVER: RetainHandling

class Subscription(_message.Message):
    __slots__ = ("qos", "no_local", "retain_as_published", "retain_handling", "identifier", "properties", "created_at_ms")
    QOS_FIELD_NUMBER: _ClassVar[int]
    NO_LOCAL_FIELD_NUMBER: _ClassVar[int]
    RETAIN_AS_PUBLISHED_FIELD_NUMBER: _ClassVar[int]
    RETAIN_HANDLING_FIELD_NUMBER: _ClassVar[int]
    IDENTIFIER_FIELD_NUMBER: _ClassVar[int]
    PROPERTIES_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    qos: int
    no_local: bool
    retain_as_published: bool
    retain_handling: RetainHandling
    identifier: int
    properties: bytes
    created_at_ms: int
    def __init__(self, qos: _Optional[int] = ..., no_local: bool = ..., retain_as_published: bool = ..., retain_handling: _Optional[_Union[RetainHandling, str]] = ..., identifier: _Optional[int] = ..., properties: _Optional[bytes] = ..., created_at_ms: _Optional[int] = ...) -> None: ...

class KeyedSubscription(_message.Message):
    __slots__ = ("tenant", "client_id", "filter", "subscription", "revision")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    CLIENT_ID_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    SUBSCRIPTION_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    client_id: str
    filter: str
    subscription: Subscription
    revision: int
    def __init__(self, tenant: _Optional[str] = ..., client_id: _Optional[str] = ..., filter: _Optional[str] = ..., subscription: _Optional[_Union[Subscription, _Mapping]] = ..., revision: _Optional[int] = ...) -> None: ...

class ClientName(_message.Message):
    __slots__ = ("tenant", "client_id")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    CLIENT_ID_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    client_id: str
    def __init__(self, tenant: _Optional[str] = ..., client_id: _Optional[str] = ...) -> None: ...

class SetSubscription(_message.Message):
    __slots__ = ("tenant", "client_id", "filter", "generation", "qos", "no_local", "retain_as_published", "retain_handling", "identifier", "properties")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    CLIENT_ID_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    QOS_FIELD_NUMBER: _ClassVar[int]
    NO_LOCAL_FIELD_NUMBER: _ClassVar[int]
    RETAIN_AS_PUBLISHED_FIELD_NUMBER: _ClassVar[int]
    RETAIN_HANDLING_FIELD_NUMBER: _ClassVar[int]
    IDENTIFIER_FIELD_NUMBER: _ClassVar[int]
    PROPERTIES_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    client_id: str
    filter: str
    generation: int
    qos: int
    no_local: bool
    retain_as_published: bool
    retain_handling: RetainHandling
    identifier: int
    properties: bytes
    def __init__(self, tenant: _Optional[str] = ..., client_id: _Optional[str] = ..., filter: _Optional[str] = ..., generation: _Optional[int] = ..., qos: _Optional[int] = ..., no_local: bool = ..., retain_as_published: bool = ..., retain_handling: _Optional[_Union[RetainHandling, str]] = ..., identifier: _Optional[int] = ..., properties: _Optional[bytes] = ...) -> None: ...

class SetSubscriptionReply(_message.Message):
    __slots__ = ("created",)
    CREATED_FIELD_NUMBER: _ClassVar[int]
    created: bool
    def __init__(self, created: bool = ...) -> None: ...

class SetSubscriptions(_message.Message):
    __slots__ = ("subscriptions",)
    SUBSCRIPTIONS_FIELD_NUMBER: _ClassVar[int]
    subscriptions: _containers.RepeatedCompositeFieldContainer[SetSubscription]
    def __init__(self, subscriptions: _Optional[_Iterable[_Union[SetSubscription, _Mapping]]] = ...) -> None: ...

class DeleteSubscription(_message.Message):
    __slots__ = ("tenant", "client_id", "filter", "generation", "missing_ok")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    CLIENT_ID_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    MISSING_OK_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    client_id: str
    filter: str
    generation: int
    missing_ok: bool
    def __init__(self, tenant: _Optional[str] = ..., client_id: _Optional[str] = ..., filter: _Optional[str] = ..., generation: _Optional[int] = ..., missing_ok: bool = ...) -> None: ...

class DeleteSubscriptionReply(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class DeleteSubscriptions(_message.Message):
    __slots__ = ("subscriptions",)
    SUBSCRIPTIONS_FIELD_NUMBER: _ClassVar[int]
    subscriptions: _containers.RepeatedCompositeFieldContainer[DeleteSubscription]
    def __init__(self, subscriptions: _Optional[_Iterable[_Union[DeleteSubscription, _Mapping]]] = ...) -> None: ...

class GetSubscriptionRequest(_message.Message):
    __slots__ = ("tenant", "client_id", "filter")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    CLIENT_ID_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    client_id: str
    filter: str
    def __init__(self, tenant: _Optional[str] = ..., client_id: _Optional[str] = ..., filter: _Optional[str] = ...) -> None: ...

class GetSubscriptionsRequest(_message.Message):
    __slots__ = ("subscriptions",)
    SUBSCRIPTIONS_FIELD_NUMBER: _ClassVar[int]
    subscriptions: _containers.RepeatedCompositeFieldContainer[GetSubscriptionRequest]
    def __init__(self, subscriptions: _Optional[_Iterable[_Union[GetSubscriptionRequest, _Mapping]]] = ...) -> None: ...

class SubscriptionLookups(_message.Message):
    __slots__ = ("lookups",)
    LOOKUPS_FIELD_NUMBER: _ClassVar[int]
    lookups: _containers.RepeatedCompositeFieldContainer[SubscriptionLookup]
    def __init__(self, lookups: _Optional[_Iterable[_Union[SubscriptionLookup, _Mapping]]] = ...) -> None: ...

class SubscriptionLookup(_message.Message):
    __slots__ = ("subscription",)
    SUBSCRIPTION_FIELD_NUMBER: _ClassVar[int]
    subscription: KeyedSubscription
    def __init__(self, subscription: _Optional[_Union[KeyedSubscription, _Mapping]] = ...) -> None: ...

class ListSubscriptionsRequest(_message.Message):
    __slots__ = ("tenant", "client_id", "page_size", "page_token", "stale", "min_revision")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    CLIENT_ID_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    STALE_FIELD_NUMBER: _ClassVar[int]
    MIN_REVISION_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    client_id: str
    page_size: int
    page_token: bytes
    stale: bool
    min_revision: int
    def __init__(self, tenant: _Optional[str] = ..., client_id: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[bytes] = ..., stale: bool = ..., min_revision: _Optional[int] = ...) -> None: ...

class ListSubscriptionsResponse(_message.Message):
    __slots__ = ("subscriptions", "next_page_token")
    SUBSCRIPTIONS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    subscriptions: _containers.RepeatedCompositeFieldContainer[KeyedSubscription]
    next_page_token: bytes
    def __init__(self, subscriptions: _Optional[_Iterable[_Union[KeyedSubscription, _Mapping]]] = ..., next_page_token: _Optional[bytes] = ...) -> None: ...

class GatherSubscriptionsRequest(_message.Message):
    __slots__ = ("clients",)
    CLIENTS_FIELD_NUMBER: _ClassVar[int]
    clients: _containers.RepeatedCompositeFieldContainer[ClientName]
    def __init__(self, clients: _Optional[_Iterable[_Union[ClientName, _Mapping]]] = ...) -> None: ...

class GatherSubscriptionsResponse(_message.Message):
    __slots__ = ("subscriptions", "left_out")
    SUBSCRIPTIONS_FIELD_NUMBER: _ClassVar[int]
    LEFT_OUT_FIELD_NUMBER: _ClassVar[int]
    subscriptions: _containers.RepeatedCompositeFieldContainer[KeyedSubscription]
    left_out: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, subscriptions: _Optional[_Iterable[_Union[KeyedSubscription, _Mapping]]] = ..., left_out: _Optional[_Iterable[int]] = ...) -> None: ...

class FindSubscriptions(_message.Message):
    __slots__ = ("clients",)
    CLIENTS_FIELD_NUMBER: _ClassVar[int]
    clients: _containers.RepeatedCompositeFieldContainer[ClientName]
    def __init__(self, clients: _Optional[_Iterable[_Union[ClientName, _Mapping]]] = ...) -> None: ...
