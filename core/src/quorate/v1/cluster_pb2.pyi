from google.protobuf import empty_pb2 as _empty_pb2
from quorate.v1 import batch_pb2 as _batch_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Broker(_message.Message):
    __slots__ = ("name", "cluster_name", "roles", "labels", "addresses", "epoch", "ttl_ms", "registered_at_ms")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class AddressesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_NAME_FIELD_NUMBER: _ClassVar[int]
    ROLES_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    ADDRESSES_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    TTL_MS_FIELD_NUMBER: _ClassVar[int]
    REGISTERED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    name: str
    cluster_name: str
    roles: _containers.RepeatedScalarFieldContainer[str]
    labels: _containers.ScalarMap[str, str]
    addresses: _containers.ScalarMap[str, str]
    epoch: int
    ttl_ms: int
    registered_at_ms: int
    def __init__(self, name: _Optional[str] = ..., cluster_name: _Optional[str] = ..., roles: _Optional[_Iterable[str]] = ..., labels: _Optional[_Mapping[str, str]] = ..., addresses: _Optional[_Mapping[str, str]] = ..., epoch: _Optional[int] = ..., ttl_ms: _Optional[int] = ..., registered_at_ms: _Optional[int] = ...) -> None: ...

class RegisterBroker(_message.Message):
    __slots__ = ("name", "cluster_name", "roles", "labels", "addresses", "ttl_ms")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class AddressesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_NAME_FIELD_NUMBER: _ClassVar[int]
    ROLES_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    ADDRESSES_FIELD_NUMBER: _ClassVar[int]
    TTL_MS_FIELD_NUMBER: _ClassVar[int]
    name: str
    cluster_name: str
    roles: _containers.RepeatedScalarFieldContainer[str]
    labels: _containers.ScalarMap[str, str]
    addresses: _containers.ScalarMap[str, str]
    ttl_ms: int
    def __init__(self, name: _Optional[str] = ..., cluster_name: _Optional[str] = ..., roles: _Optional[_Iterable[str]] = ..., labels: _Optional[_Mapping[str, str]] = ..., addresses: _Optional[_Mapping[str, str]] = ..., ttl_ms: _Optional[int] = ...) -> None: ...

class RegisterBrokers(_message.Message):
    __slots__ = ("brokers",)
    BROKERS_FIELD_NUMBER: _ClassVar[int]
    brokers: _containers.RepeatedCompositeFieldContainer[RegisterBroker]
    def __init__(self, brokers: _Optional[_Iterable[_Union[RegisterBroker, _Mapping]]] = ...) -> None: ...

class UnregisterBroker(_message.Message):
    __slots__ = ("name", "epoch", "missing_ok")
    NAME_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    MISSING_OK_FIELD_NUMBER: _ClassVar[int]
    name: str
    epoch: int
    missing_ok: bool
    def __init__(self, name: _Optional[str] = ..., epoch: _Optional[int] = ..., missing_ok: bool = ...) -> None: ...

class UnregisterBrokers(_message.Message):
    __slots__ = ("brokers",)
    BROKERS_FIELD_NUMBER: _ClassVar[int]
    brokers: _containers.RepeatedCompositeFieldContainer[UnregisterBroker]
    def __init__(self, brokers: _Optional[_Iterable[_Union[UnregisterBroker, _Mapping]]] = ...) -> None: ...

class SendHeartbeat(_message.Message):
    __slots__ = ("name", "epoch")
    NAME_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    name: str
    epoch: int
    def __init__(self, name: _Optional[str] = ..., epoch: _Optional[int] = ...) -> None: ...

class SendHeartbeats(_message.Message):
    __slots__ = ("heartbeats",)
    HEARTBEATS_FIELD_NUMBER: _ClassVar[int]
    heartbeats: _containers.RepeatedCompositeFieldContainer[SendHeartbeat]
    def __init__(self, heartbeats: _Optional[_Iterable[_Union[SendHeartbeat, _Mapping]]] = ...) -> None: ...

class ExpireBrokers(_message.Message):
    __slots__ = ("keys",)
    KEYS_FIELD_NUMBER: _ClassVar[int]
    keys: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, keys: _Optional[_Iterable[bytes]] = ...) -> None: ...

class ListBrokers(_message.Message):
    __slots__ = ("cluster_name", "role", "labels", "after_name", "limit")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    CLUSTER_NAME_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    AFTER_NAME_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    cluster_name: str
    role: str
    labels: _containers.ScalarMap[str, str]
    after_name: str
    limit: int
    def __init__(self, cluster_name: _Optional[str] = ..., role: _Optional[str] = ..., labels: _Optional[_Mapping[str, str]] = ..., after_name: _Optional[str] = ..., limit: _Optional[int] = ...) -> None: ...

class GetBrokerRequest(_message.Message):
    __slots__ = ("name", "stale", "min_revision")
    NAME_FIELD_NUMBER: _ClassVar[int]
    STALE_FIELD_NUMBER: _ClassVar[int]
    MIN_REVISION_FIELD_NUMBER: _ClassVar[int]
    name: str
    stale: bool
    min_revision: int
    def __init__(self, name: _Optional[str] = ..., stale: bool = ..., min_revision: _Optional[int] = ...) -> None: ...

class ListBrokersRequest(_message.Message):
    __slots__ = ("cluster_name", "role", "labels", "page_size", "page_token", "stale", "min_revision")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    CLUSTER_NAME_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    STALE_FIELD_NUMBER: _ClassVar[int]
    MIN_REVISION_FIELD_NUMBER: _ClassVar[int]
    cluster_name: str
    role: str
    labels: _containers.ScalarMap[str, str]
    page_size: int
    page_token: str
    stale: bool
    min_revision: int
    def __init__(self, cluster_name: _Optional[str] = ..., role: _Optional[str] = ..., labels: _Optional[_Mapping[str, str]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., stale: bool = ..., min_revision: _Optional[int] = ...) -> None: ...

class ListBrokersResponse(_message.Message):
    __slots__ = ("brokers", "next_page_token")
    BROKERS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    brokers: _containers.RepeatedCompositeFieldContainer[Broker]
    next_page_token: str
    def __init__(self, brokers: _Optional[_Iterable[_Union[Broker, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...
