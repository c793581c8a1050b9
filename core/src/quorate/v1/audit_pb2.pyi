from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class FindWriter(_message.Message):
    __slots__ = ("family", "key")
    FAMILY_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    family: str
    key: bytes
    def __init__(self, family: _Optional[str] = ..., key: _Optional[bytes] = ...) -> None: ...

class RowWriter(_message.Message):
    __slots__ = ("revision", "shard", "known", "identity", "written_at_ms")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    SHARD_FIELD_NUMBER: _ClassVar[int]
    KNOWN_FIELD_NUMBER: _ClassVar[int]
    IDENTITY_FIELD_NUMBER: _ClassVar[int]
    WRITTEN_AT_MS_FIELD_NUMBER: _ClassVar[int]
    revision: int
    shard: int
    known: bool
    identity: str
    written_at_ms: int
    def __init__(self, revision: _Optional[int] = ..., shard: _Optional[int] = ..., known: bool = ..., identity: _Optional[str] = ..., written_at_ms: _Optional[int] = ...) -> None: ...

class FollowAudit(_message.Message):
    __slots__ = ("domains",)
    DOMAINS_FIELD_NUMBER: _ClassVar[int]
    domains: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, domains: _Optional[_Iterable[str]] = ...) -> None: ...

class AuditRecords(_message.Message):
    __slots__ = ("records",)
    RECORDS_FIELD_NUMBER: _ClassVar[int]
    records: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, records: _Optional[_Iterable[str]] = ...) -> None: ...
