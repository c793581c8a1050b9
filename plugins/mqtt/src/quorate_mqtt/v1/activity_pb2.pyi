from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class Activity(_message.Message):
    __slots__ = ("probe", "connects", "take_overs", "sessions_expired", "wills_due", "wills_reassigned", "wills_published")
    PROBE_FIELD_NUMBER: _ClassVar[int]
    CONNECTS_FIELD_NUMBER: _ClassVar[int]
    TAKE_OVERS_FIELD_NUMBER: _ClassVar[int]
    SESSIONS_EXPIRED_FIELD_NUMBER: _ClassVar[int]
    WILLS_DUE_FIELD_NUMBER: _ClassVar[int]
    WILLS_REASSIGNED_FIELD_NUMBER: _ClassVar[int]
    WILLS_PUBLISHED_FIELD_NUMBER: _ClassVar[int]
    probe: bytes
    connects: int
    take_overs: int
    sessions_expired: int
    wills_due: int
    wills_reassigned: int
    wills_published: int
    def __init__(self, probe: _Optional[bytes] = ..., connects: _Optional[int] = ..., take_overs: _Optional[int] = ..., sessions_expired: _Optional[int] = ..., wills_due: _Optional[int] = ..., wills_reassigned: _Optional[int] = ..., wills_published: _Optional[int] = ...) -> None: ...

class ListActivity(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class CollectActivity(_message.Message):
    __slots__ = ("probes",)
    PROBES_FIELD_NUMBER: _ClassVar[int]
    probes: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, probes: _Optional[_Iterable[bytes]] = ...) -> None: ...
