from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Frame(_message.Message):
    __slots__ = ("hello", "message", "share", "handover", "received")
    HELLO_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    SHARE_FIELD_NUMBER: _ClassVar[int]
    HANDOVER_FIELD_NUMBER: _ClassVar[int]
    RECEIVED_FIELD_NUMBER: _ClassVar[int]
    hello: Hello
    message: Message
    share: Share
    handover: Handover
    received: Received
    def __init__(self, hello: _Optional[_Union[Hello, _Mapping]] = ..., message: _Optional[_Union[Message, _Mapping]] = ..., share: _Optional[_Union[Share, _Mapping]] = ..., handover: _Optional[_Union[Handover, _Mapping]] = ..., received: _Optional[_Union[Received, _Mapping]] = ...) -> None: ...

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
    __slots__ = ("tenant", "topic", "payload", "qos")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    QOS_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    topic: str
    payload: bytes
    qos: int
    def __init__(self, tenant: _Optional[str] = ..., topic: _Optional[str] = ..., payload: _Optional[bytes] = ..., qos: _Optional[int] = ...) -> None: ...

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

class Handover(_message.Message):
    __slots__ = ("client_id", "messages")
    CLIENT_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    client_id: str
    messages: _containers.RepeatedCompositeFieldContainer[Message]
    def __init__(self, client_id: _Optional[str] = ..., messages: _Optional[_Iterable[_Union[Message, _Mapping]]] = ...) -> None: ...

class Received(_message.Message):
    __slots__ = ("number",)
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    number: int
    def __init__(self, number: _Optional[int] = ...) -> None: ...
