from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Frame(_message.Message):
    __slots__ = ("hello", "message", "share", "received", "wake", "moved")
    HELLO_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    SHARE_FIELD_NUMBER: _ClassVar[int]
    RECEIVED_FIELD_NUMBER: _ClassVar[int]
    WAKE_FIELD_NUMBER: _ClassVar[int]
    MOVED_FIELD_NUMBER: _ClassVar[int]
    hello: Hello
    message: Message
    share: Share
    received: Received
    wake: Wake
    moved: Moved
    def __init__(self, hello: _Optional[_Union[Hello, _Mapping]] = ..., message: _Optional[_Union[Message, _Mapping]] = ..., share: _Optional[_Union[Share, _Mapping]] = ..., received: _Optional[_Union[Received, _Mapping]] = ..., wake: _Optional[_Union[Wake, _Mapping]] = ..., moved: _Optional[_Union[Moved, _Mapping]] = ...) -> None: ...

class Hello(_message.Message):
    __slots__ = ("broker", "broker_epoch", "receiver_epoch", "next")
    BROKER_FIELD_NUMBER: _ClassVar[int]
    BROKER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    RECEIVER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    broker: str
    broker_epoch: int
    receiver_epoch: int
    next: int
    def __init__(self, broker: _Optional[str] = ..., broker_epoch: _Optional[int] = ..., receiver_epoch: _Optional[int] = ..., next: _Optional[int] = ...) -> None: ...

class Message(_message.Message):
    __slots__ = ("tenant", "topic", "payload", "qos", "retain", "properties", "expires_at_ms", "publisher", "number", "queued")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    QOS_FIELD_NUMBER: _ClassVar[int]
    RETAIN_FIELD_NUMBER: _ClassVar[int]
    PROPERTIES_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_MS_FIELD_NUMBER: _ClassVar[int]
    PUBLISHER_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    QUEUED_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    topic: str
    payload: bytes
    qos: int
    retain: bool
    properties: bytes
    expires_at_ms: int
    publisher: str
    number: int
    queued: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, tenant: _Optional[str] = ..., topic: _Optional[str] = ..., payload: _Optional[bytes] = ..., qos: _Optional[int] = ..., retain: bool = ..., properties: _Optional[bytes] = ..., expires_at_ms: _Optional[int] = ..., publisher: _Optional[str] = ..., number: _Optional[int] = ..., queued: _Optional[_Iterable[str]] = ...) -> None: ...

class Share(_message.Message):
    __slots__ = ("group", "filter", "client_id", "message")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    CLIENT_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    group: str
    filter: str
    client_id: str
    message: Message
    def __init__(self, group: _Optional[str] = ..., filter: _Optional[str] = ..., client_id: _Optional[str] = ..., message: _Optional[_Union[Message, _Mapping]] = ...) -> None: ...

class Wake(_message.Message):
    __slots__ = ("client_id",)
    CLIENT_ID_FIELD_NUMBER: _ClassVar[int]
    client_id: str
    def __init__(self, client_id: _Optional[str] = ...) -> None: ...

class Moved(_message.Message):
    __slots__ = ("client_id", "generation", "seen")
    CLIENT_ID_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    SEEN_FIELD_NUMBER: _ClassVar[int]
    client_id: str
    generation: int
    seen: _containers.RepeatedCompositeFieldContainer[Seen]
    def __init__(self, client_id: _Optional[str] = ..., generation: _Optional[int] = ..., seen: _Optional[_Iterable[_Union[Seen, _Mapping]]] = ...) -> None: ...

class Seen(_message.Message):
    __slots__ = ("broker_epoch", "number")
    BROKER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    broker_epoch: int
    number: int
    def __init__(self, broker_epoch: _Optional[int] = ..., number: _Optional[int] = ...) -> None: ...

class Received(_message.Message):
    __slots__ = ("number",)
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    number: int
    def __init__(self, number: _Optional[int] = ...) -> None: ...
