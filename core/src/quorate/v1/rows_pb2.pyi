from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class ReadRows(_message.Message):
    __slots__ = ("keys",)
    KEYS_FIELD_NUMBER: _ClassVar[int]
    keys: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, keys: _Optional[_Iterable[bytes]] = ...) -> None: ...

class ScanRows(_message.Message):
    __slots__ = ("start", "end", "limit", "filter", "keys_only", "shard_key")
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    KEYS_ONLY_FIELD_NUMBER: _ClassVar[int]
    SHARD_KEY_FIELD_NUMBER: _ClassVar[int]
    start: bytes
    end: bytes
    limit: int
    filter: bytes
    keys_only: bool
    shard_key: bytes
    def __init__(self, start: _Optional[bytes] = ..., end: _Optional[bytes] = ..., limit: _Optional[int] = ..., filter: _Optional[bytes] = ..., keys_only: bool = ..., shard_key: _Optional[bytes] = ...) -> None: ...

class KnowsTenant(_message.Message):
    __slots__ = ("tenant",)
    TENANT_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    def __init__(self, tenant: _Optional[str] = ...) -> None: ...

class TenantKnown(_message.Message):
    __slots__ = ("deleting_id",)
    DELETING_ID_FIELD_NUMBER: _ClassVar[int]
    deleting_id: int
    def __init__(self, deleting_id: _Optional[int] = ...) -> None: ...

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

class RowCount(_message.Message):
    __slots__ = ("count",)
    COUNT_FIELD_NUMBER: _ClassVar[int]
    count: int
    def __init__(self, count: _Optional[int] = ...) -> None: ...
