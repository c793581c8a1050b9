from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class Register(_message.Message):
    __slots__ = ("content", "operation")
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    content: bytes
    operation: int
    def __init__(self, content: _Optional[bytes] = ..., operation: _Optional[int] = ...) -> None: ...

class Counter(_message.Message):
    __slots__ = ("total",)
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    total: int
    def __init__(self, total: _Optional[int] = ...) -> None: ...

class Write(_message.Message):
    __slots__ = ("operation", "key", "content", "expected", "ttl_ms")
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_FIELD_NUMBER: _ClassVar[int]
    TTL_MS_FIELD_NUMBER: _ClassVar[int]
    operation: int
    key: str
    content: bytes
    expected: int
    ttl_ms: int
    def __init__(self, operation: _Optional[int] = ..., key: _Optional[str] = ..., content: _Optional[bytes] = ..., expected: _Optional[int] = ..., ttl_ms: _Optional[int] = ...) -> None: ...

class Add(_message.Message):
    __slots__ = ("operation", "key", "amount")
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    AMOUNT_FIELD_NUMBER: _ClassVar[int]
    operation: int
    key: str
    amount: int
    def __init__(self, operation: _Optional[int] = ..., key: _Optional[str] = ..., amount: _Optional[int] = ...) -> None: ...

class Added(_message.Message):
    __slots__ = ("total", "id")
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    total: int
    id: int
    def __init__(self, total: _Optional[int] = ..., id: _Optional[int] = ...) -> None: ...

class Erase(_message.Message):
    __slots__ = ("operation", "key")
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    operation: int
    key: str
    def __init__(self, operation: _Optional[int] = ..., key: _Optional[str] = ...) -> None: ...

class Expire(_message.Message):
    __slots__ = ("keys",)
    KEYS_FIELD_NUMBER: _ClassVar[int]
    keys: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, keys: _Optional[_Iterable[bytes]] = ...) -> None: ...
