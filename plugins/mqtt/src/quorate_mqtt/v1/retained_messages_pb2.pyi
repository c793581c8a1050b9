from google.protobuf import empty_pb2 as _empty_pb2
from quorate.v1 import batch_pb2 as _batch_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RetainedMessage(_message.Message):
    __slots__ = ("tenant", "topic", "payload", "qos", "properties", "stored_at_ms", "expires_at_ms")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    QOS_FIELD_NUMBER: _ClassVar[int]
    PROPERTIES_FIELD_NUMBER: _ClassVar[int]
    STORED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_MS_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    topic: str
    payload: bytes
    qos: int
    properties: bytes
    stored_at_ms: int
    expires_at_ms: int
    def __init__(self, tenant: _Optional[str] = ..., topic: _Optional[str] = ..., payload: _Optional[bytes] = ..., qos: _Optional[int] = ..., properties: _Optional[bytes] = ..., stored_at_ms: _Optional[int] = ..., expires_at_ms: _Optional[int] = ...) -> None: ...

class PutRetainedMessageRequest(_message.Message):
    __slots__ = ("tenant", "topic", "payload", "qos", "properties", "expiry_ms")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    QOS_FIELD_NUMBER: _ClassVar[int]
    PROPERTIES_FIELD_NUMBER: _ClassVar[int]
    EXPIRY_MS_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    topic: str
    payload: bytes
    qos: int
    properties: bytes
    expiry_ms: int
    def __init__(self, tenant: _Optional[str] = ..., topic: _Optional[str] = ..., payload: _Optional[bytes] = ..., qos: _Optional[int] = ..., properties: _Optional[bytes] = ..., expiry_ms: _Optional[int] = ...) -> None: ...

class PutRetainedMessages(_message.Message):
    __slots__ = ("messages",)
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[PutRetainedMessageRequest]
    def __init__(self, messages: _Optional[_Iterable[_Union[PutRetainedMessageRequest, _Mapping]]] = ...) -> None: ...

class RetainedStamp(_message.Message):
    __slots__ = ("stored_at_ms", "expires_at_ms")
    STORED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_MS_FIELD_NUMBER: _ClassVar[int]
    stored_at_ms: int
    expires_at_ms: int
    def __init__(self, stored_at_ms: _Optional[int] = ..., expires_at_ms: _Optional[int] = ...) -> None: ...

class RetainedName(_message.Message):
    __slots__ = ("tenant", "topic")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    topic: str
    def __init__(self, tenant: _Optional[str] = ..., topic: _Optional[str] = ...) -> None: ...

class DeleteRetainedMessages(_message.Message):
    __slots__ = ("names",)
    NAMES_FIELD_NUMBER: _ClassVar[int]
    names: _containers.RepeatedCompositeFieldContainer[RetainedName]
    def __init__(self, names: _Optional[_Iterable[_Union[RetainedName, _Mapping]]] = ...) -> None: ...

class ExpireRetainedMessages(_message.Message):
    __slots__ = ("keys",)
    KEYS_FIELD_NUMBER: _ClassVar[int]
    keys: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, keys: _Optional[_Iterable[bytes]] = ...) -> None: ...

class GetRetainedMessagesRequest(_message.Message):
    __slots__ = ("names",)
    NAMES_FIELD_NUMBER: _ClassVar[int]
    names: _containers.RepeatedCompositeFieldContainer[RetainedName]
    def __init__(self, names: _Optional[_Iterable[_Union[RetainedName, _Mapping]]] = ...) -> None: ...

class RetainedMessageLookups(_message.Message):
    __slots__ = ("lookups",)
    LOOKUPS_FIELD_NUMBER: _ClassVar[int]
    lookups: _containers.RepeatedCompositeFieldContainer[RetainedMessageLookup]
    def __init__(self, lookups: _Optional[_Iterable[_Union[RetainedMessageLookup, _Mapping]]] = ...) -> None: ...

class RetainedMessageLookup(_message.Message):
    __slots__ = ("message",)
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    message: RetainedMessage
    def __init__(self, message: _Optional[_Union[RetainedMessage, _Mapping]] = ...) -> None: ...

class ListRetainedMessagesRequest(_message.Message):
    __slots__ = ("tenant", "prefix", "page_size", "page_token", "topic_filter")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FILTER_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    prefix: str
    page_size: int
    page_token: bytes
    topic_filter: str
    def __init__(self, tenant: _Optional[str] = ..., prefix: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[bytes] = ..., topic_filter: _Optional[str] = ...) -> None: ...

class RetainedMessagePage(_message.Message):
    __slots__ = ("messages", "next_page_token")
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[RetainedMessage]
    next_page_token: bytes
    def __init__(self, messages: _Optional[_Iterable[_Union[RetainedMessage, _Mapping]]] = ..., next_page_token: _Optional[bytes] = ...) -> None: ...
