from quorate.v1 import batch_pb2 as _batch_pb2
from quorate.v1 import rows_pb2 as _rows_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class QueuedMessage(_message.Message):
    __slots__ = ("tenant", "client_id", "number", "topic", "payload", "qos", "retain", "properties", "expires_at_ms", "packet_id", "received", "origin_epoch", "origin_number", "queued_at_ms")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    CLIENT_ID_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    QOS_FIELD_NUMBER: _ClassVar[int]
    RETAIN_FIELD_NUMBER: _ClassVar[int]
    PROPERTIES_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_MS_FIELD_NUMBER: _ClassVar[int]
    PACKET_ID_FIELD_NUMBER: _ClassVar[int]
    RECEIVED_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_EPOCH_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_NUMBER_FIELD_NUMBER: _ClassVar[int]
    QUEUED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    client_id: str
    number: int
    topic: str
    payload: bytes
    qos: int
    retain: bool
    properties: bytes
    expires_at_ms: int
    packet_id: int
    received: bool
    origin_epoch: int
    origin_number: int
    queued_at_ms: int
    def __init__(self, tenant: _Optional[str] = ..., client_id: _Optional[str] = ..., number: _Optional[int] = ..., topic: _Optional[str] = ..., payload: _Optional[bytes] = ..., qos: _Optional[int] = ..., retain: bool = ..., properties: _Optional[bytes] = ..., expires_at_ms: _Optional[int] = ..., packet_id: _Optional[int] = ..., received: bool = ..., origin_epoch: _Optional[int] = ..., origin_number: _Optional[int] = ..., queued_at_ms: _Optional[int] = ...) -> None: ...

class AppendMessage(_message.Message):
    __slots__ = ("tenant", "client_id", "number", "session_created_at_ms", "topic", "payload", "qos", "retain", "properties", "expires_at_ms", "packet_id", "received", "origin_epoch", "origin_number")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    CLIENT_ID_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    SESSION_CREATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    QOS_FIELD_NUMBER: _ClassVar[int]
    RETAIN_FIELD_NUMBER: _ClassVar[int]
    PROPERTIES_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_MS_FIELD_NUMBER: _ClassVar[int]
    PACKET_ID_FIELD_NUMBER: _ClassVar[int]
    RECEIVED_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_EPOCH_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_NUMBER_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    client_id: str
    number: int
    session_created_at_ms: int
    topic: str
    payload: bytes
    qos: int
    retain: bool
    properties: bytes
    expires_at_ms: int
    packet_id: int
    received: bool
    origin_epoch: int
    origin_number: int
    def __init__(self, tenant: _Optional[str] = ..., client_id: _Optional[str] = ..., number: _Optional[int] = ..., session_created_at_ms: _Optional[int] = ..., topic: _Optional[str] = ..., payload: _Optional[bytes] = ..., qos: _Optional[int] = ..., retain: bool = ..., properties: _Optional[bytes] = ..., expires_at_ms: _Optional[int] = ..., packet_id: _Optional[int] = ..., received: bool = ..., origin_epoch: _Optional[int] = ..., origin_number: _Optional[int] = ...) -> None: ...

class AppendMessages(_message.Message):
    __slots__ = ("most_messages", "most_bytes", "messages")
    MOST_MESSAGES_FIELD_NUMBER: _ClassVar[int]
    MOST_BYTES_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    most_messages: int
    most_bytes: int
    messages: _containers.RepeatedCompositeFieldContainer[AppendMessage]
    def __init__(self, most_messages: _Optional[int] = ..., most_bytes: _Optional[int] = ..., messages: _Optional[_Iterable[_Union[AppendMessage, _Mapping]]] = ...) -> None: ...

class AppendReply(_message.Message):
    __slots__ = ("number", "broker_epoch", "dropped")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    BROKER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    DROPPED_FIELD_NUMBER: _ClassVar[int]
    number: int
    broker_epoch: int
    dropped: int
    def __init__(self, number: _Optional[int] = ..., broker_epoch: _Optional[int] = ..., dropped: _Optional[int] = ...) -> None: ...

class QueuedMessageName(_message.Message):
    __slots__ = ("tenant", "client_id", "number")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    CLIENT_ID_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    client_id: str
    number: int
    def __init__(self, tenant: _Optional[str] = ..., client_id: _Optional[str] = ..., number: _Optional[int] = ...) -> None: ...

class DeleteQueuedMessages(_message.Message):
    __slots__ = ("messages",)
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[QueuedMessageName]
    def __init__(self, messages: _Optional[_Iterable[_Union[QueuedMessageName, _Mapping]]] = ...) -> None: ...

class ListQueuedMessagesRequest(_message.Message):
    __slots__ = ("tenant", "client_id", "page_size", "page_token")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    CLIENT_ID_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    client_id: str
    page_size: int
    page_token: bytes
    def __init__(self, tenant: _Optional[str] = ..., client_id: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[bytes] = ...) -> None: ...

class QueuedMessagePage(_message.Message):
    __slots__ = ("messages", "next_page_token")
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[QueuedMessage]
    next_page_token: bytes
    def __init__(self, messages: _Optional[_Iterable[_Union[QueuedMessage, _Mapping]]] = ..., next_page_token: _Optional[bytes] = ...) -> None: ...

class QueueHead(_message.Message):
    __slots__ = ("last", "messages", "bytes")
    LAST_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    last: int
    messages: int
    bytes: int
    def __init__(self, last: _Optional[int] = ..., messages: _Optional[int] = ..., bytes: _Optional[int] = ...) -> None: ...
