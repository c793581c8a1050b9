from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class StoredRow(_message.Message):
    __slots__ = ("key", "value", "revision", "more")
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    MORE_FIELD_NUMBER: _ClassVar[int]
    key: bytes
    value: bytes
    revision: int
    more: bool
    def __init__(self, key: _Optional[bytes] = ..., value: _Optional[bytes] = ..., revision: _Optional[int] = ..., more: bool = ...) -> None: ...

class GetRowQuery(_message.Message):
    __slots__ = ("family", "key", "shard_key")
    FAMILY_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    SHARD_KEY_FIELD_NUMBER: _ClassVar[int]
    family: str
    key: bytes
    shard_key: bytes
    def __init__(self, family: _Optional[str] = ..., key: _Optional[bytes] = ..., shard_key: _Optional[bytes] = ...) -> None: ...

class GetRowsQuery(_message.Message):
    __slots__ = ("family", "keys")
    FAMILY_FIELD_NUMBER: _ClassVar[int]
    KEYS_FIELD_NUMBER: _ClassVar[int]
    family: str
    keys: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, family: _Optional[str] = ..., keys: _Optional[_Iterable[bytes]] = ...) -> None: ...

class ListRowsQuery(_message.Message):
    __slots__ = ("family", "start", "end", "limit", "keys_only", "shard_key")
    FAMILY_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    KEYS_ONLY_FIELD_NUMBER: _ClassVar[int]
    SHARD_KEY_FIELD_NUMBER: _ClassVar[int]
    family: str
    start: bytes
    end: bytes
    limit: int
    keys_only: bool
    shard_key: bytes
    def __init__(self, family: _Optional[str] = ..., start: _Optional[bytes] = ..., end: _Optional[bytes] = ..., limit: _Optional[int] = ..., keys_only: bool = ..., shard_key: _Optional[bytes] = ...) -> None: ...

class ListAllRowsQuery(_message.Message):
    __slots__ = ("family", "start", "end", "limit", "keys_only")
    FAMILY_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    KEYS_ONLY_FIELD_NUMBER: _ClassVar[int]
    family: str
    start: bytes
    end: bytes
    limit: int
    keys_only: bool
    def __init__(self, family: _Optional[str] = ..., start: _Optional[bytes] = ..., end: _Optional[bytes] = ..., limit: _Optional[int] = ..., keys_only: bool = ...) -> None: ...
