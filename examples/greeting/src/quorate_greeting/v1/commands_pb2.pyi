from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SayHelloCommand(_message.Message):
    __slots__ = ("town", "name", "salutation", "ttl_ms")
    TOWN_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SALUTATION_FIELD_NUMBER: _ClassVar[int]
    TTL_MS_FIELD_NUMBER: _ClassVar[int]
    town: str
    name: str
    salutation: str
    ttl_ms: int
    def __init__(self, town: _Optional[str] = ..., name: _Optional[str] = ..., salutation: _Optional[str] = ..., ttl_ms: _Optional[int] = ...) -> None: ...

class SayHelloBatchCommand(_message.Message):
    __slots__ = ("hellos",)
    HELLOS_FIELD_NUMBER: _ClassVar[int]
    hellos: _containers.RepeatedCompositeFieldContainer[SayHelloCommand]
    def __init__(self, hellos: _Optional[_Iterable[_Union[SayHelloCommand, _Mapping]]] = ...) -> None: ...

class ForgetCommand(_message.Message):
    __slots__ = ("town", "name")
    TOWN_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    town: str
    name: str
    def __init__(self, town: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class ExpireGreetingsCommand(_message.Message):
    __slots__ = ("keys",)
    KEYS_FIELD_NUMBER: _ClassVar[int]
    keys: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, keys: _Optional[_Iterable[bytes]] = ...) -> None: ...

class RecordTallyCommand(_message.Message):
    __slots__ = ("salutation", "greetings")
    SALUTATION_FIELD_NUMBER: _ClassVar[int]
    GREETINGS_FIELD_NUMBER: _ClassVar[int]
    salutation: str
    greetings: int
    def __init__(self, salutation: _Optional[str] = ..., greetings: _Optional[int] = ...) -> None: ...
