from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class List(_message.Message):
    __slots__ = ("key", "operations")
    KEY_FIELD_NUMBER: _ClassVar[int]
    OPERATIONS_FIELD_NUMBER: _ClassVar[int]
    key: str
    operations: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, key: _Optional[str] = ..., operations: _Optional[_Iterable[int]] = ...) -> None: ...

class Append(_message.Message):
    __slots__ = ("operation", "key", "ttl_ms")
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    TTL_MS_FIELD_NUMBER: _ClassVar[int]
    operation: int
    key: str
    ttl_ms: int
    def __init__(self, operation: _Optional[int] = ..., key: _Optional[str] = ..., ttl_ms: _Optional[int] = ...) -> None: ...

class Appended(_message.Message):
    __slots__ = ("length", "id")
    LENGTH_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    length: int
    id: int
    def __init__(self, length: _Optional[int] = ..., id: _Optional[int] = ...) -> None: ...

class GoOff(_message.Message):
    __slots__ = ("keys",)
    KEYS_FIELD_NUMBER: _ClassVar[int]
    keys: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, keys: _Optional[_Iterable[bytes]] = ...) -> None: ...

class GoneOff(_message.Message):
    __slots__ = ("times", "at_ms", "due_ms")
    TIMES_FIELD_NUMBER: _ClassVar[int]
    AT_MS_FIELD_NUMBER: _ClassVar[int]
    DUE_MS_FIELD_NUMBER: _ClassVar[int]
    times: int
    at_ms: int
    due_ms: int
    def __init__(self, times: _Optional[int] = ..., at_ms: _Optional[int] = ..., due_ms: _Optional[int] = ...) -> None: ...

class ReadList(_message.Message):
    __slots__ = ("key",)
    KEY_FIELD_NUMBER: _ClassVar[int]
    key: str
    def __init__(self, key: _Optional[str] = ...) -> None: ...

class ReadLists(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
