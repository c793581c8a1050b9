from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class OpenViewRequest(_message.Message):
    __slots__ = ("family", "shard", "ttl_ms")
    FAMILY_FIELD_NUMBER: _ClassVar[int]
    SHARD_FIELD_NUMBER: _ClassVar[int]
    TTL_MS_FIELD_NUMBER: _ClassVar[int]
    family: str
    shard: int
    ttl_ms: int
    def __init__(self, family: _Optional[str] = ..., shard: _Optional[int] = ..., ttl_ms: _Optional[int] = ...) -> None: ...

class OpenViewResponse(_message.Message):
    __slots__ = ("view", "revision", "estimated_rows", "first", "last", "published")
    VIEW_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    ESTIMATED_ROWS_FIELD_NUMBER: _ClassVar[int]
    FIRST_FIELD_NUMBER: _ClassVar[int]
    LAST_FIELD_NUMBER: _ClassVar[int]
    PUBLISHED_FIELD_NUMBER: _ClassVar[int]
    view: str
    revision: int
    estimated_rows: int
    first: bytes
    last: bytes
    published: int
    def __init__(self, view: _Optional[str] = ..., revision: _Optional[int] = ..., estimated_rows: _Optional[int] = ..., first: _Optional[bytes] = ..., last: _Optional[bytes] = ..., published: _Optional[int] = ...) -> None: ...

class ReadViewRequest(_message.Message):
    __slots__ = ("view", "start", "end", "limit", "packed", "keys_only")
    VIEW_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    PACKED_FIELD_NUMBER: _ClassVar[int]
    KEYS_ONLY_FIELD_NUMBER: _ClassVar[int]
    view: str
    start: bytes
    end: bytes
    limit: int
    packed: bool
    keys_only: bool
    def __init__(self, view: _Optional[str] = ..., start: _Optional[bytes] = ..., end: _Optional[bytes] = ..., limit: _Optional[int] = ..., packed: bool = ..., keys_only: bool = ...) -> None: ...

class ReadViewResponse(_message.Message):
    __slots__ = ("rows", "packed")
    ROWS_FIELD_NUMBER: _ClassVar[int]
    PACKED_FIELD_NUMBER: _ClassVar[int]
    rows: _containers.RepeatedCompositeFieldContainer[ViewRow]
    packed: PackedRows
    def __init__(self, rows: _Optional[_Iterable[_Union[ViewRow, _Mapping]]] = ..., packed: _Optional[_Union[PackedRows, _Mapping]] = ...) -> None: ...

class PackedRows(_message.Message):
    __slots__ = ("keys", "key_ends", "rows", "row_ends")
    KEYS_FIELD_NUMBER: _ClassVar[int]
    KEY_ENDS_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    ROW_ENDS_FIELD_NUMBER: _ClassVar[int]
    keys: bytes
    key_ends: bytes
    rows: bytes
    row_ends: bytes
    def __init__(self, keys: _Optional[bytes] = ..., key_ends: _Optional[bytes] = ..., rows: _Optional[bytes] = ..., row_ends: _Optional[bytes] = ...) -> None: ...

class ViewRow(_message.Message):
    __slots__ = ("key", "value", "revision")
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    key: bytes
    value: bytes
    revision: int
    def __init__(self, key: _Optional[bytes] = ..., value: _Optional[bytes] = ..., revision: _Optional[int] = ...) -> None: ...

class CloseViewRequest(_message.Message):
    __slots__ = ("view",)
    VIEW_FIELD_NUMBER: _ClassVar[int]
    view: str
    def __init__(self, view: _Optional[str] = ...) -> None: ...

class CloseViewResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
