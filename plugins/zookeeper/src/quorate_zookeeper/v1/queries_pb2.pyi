from quorate_zookeeper.v1 import commands_pb2 as _commands_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Find(_message.Message):
    __slots__ = ("identities", "session", "lookups")
    IDENTITIES_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    LOOKUPS_FIELD_NUMBER: _ClassVar[int]
    identities: _containers.RepeatedCompositeFieldContainer[_commands_pb2.Identity]
    session: int
    lookups: _containers.RepeatedCompositeFieldContainer[Lookup]
    def __init__(self, identities: _Optional[_Iterable[_Union[_commands_pb2.Identity, _Mapping]]] = ..., session: _Optional[int] = ..., lookups: _Optional[_Iterable[_Union[Lookup, _Mapping]]] = ...) -> None: ...

class Lookup(_message.Message):
    __slots__ = ("type", "path", "page_bytes", "after", "after_key")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    PAGE_BYTES_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    AFTER_KEY_FIELD_NUMBER: _ClassVar[int]
    type: int
    path: str
    page_bytes: int
    after: str
    after_key: bytes
    def __init__(self, type: _Optional[int] = ..., path: _Optional[str] = ..., page_bytes: _Optional[int] = ..., after: _Optional[str] = ..., after_key: _Optional[bytes] = ...) -> None: ...

class Found(_message.Message):
    __slots__ = ("zxid", "results")
    ZXID_FIELD_NUMBER: _ClassVar[int]
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    zxid: int
    results: _containers.RepeatedCompositeFieldContainer[Result]
    def __init__(self, zxid: _Optional[int] = ..., results: _Optional[_Iterable[_Union[Result, _Mapping]]] = ...) -> None: ...

class Result(_message.Message):
    __slots__ = ("error", "body", "page")
    ERROR_FIELD_NUMBER: _ClassVar[int]
    BODY_FIELD_NUMBER: _ClassVar[int]
    PAGE_FIELD_NUMBER: _ClassVar[int]
    error: int
    body: bytes
    page: Page
    def __init__(self, error: _Optional[int] = ..., body: _Optional[bytes] = ..., page: _Optional[_Union[Page, _Mapping]] = ...) -> None: ...

class Page(_message.Message):
    __slots__ = ("count", "names", "last", "last_key")
    COUNT_FIELD_NUMBER: _ClassVar[int]
    NAMES_FIELD_NUMBER: _ClassVar[int]
    LAST_FIELD_NUMBER: _ClassVar[int]
    LAST_KEY_FIELD_NUMBER: _ClassVar[int]
    count: int
    names: bytes
    last: str
    last_key: bytes
    def __init__(self, count: _Optional[int] = ..., names: _Optional[bytes] = ..., last: _Optional[str] = ..., last_key: _Optional[bytes] = ...) -> None: ...

class CountTree(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Figures(_message.Message):
    __slots__ = ("zxid", "znodes", "ephemerals", "sessions", "bytes")
    ZXID_FIELD_NUMBER: _ClassVar[int]
    ZNODES_FIELD_NUMBER: _ClassVar[int]
    EPHEMERALS_FIELD_NUMBER: _ClassVar[int]
    SESSIONS_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    zxid: int
    znodes: int
    ephemerals: int
    sessions: int
    bytes: int
    def __init__(self, zxid: _Optional[int] = ..., znodes: _Optional[int] = ..., ephemerals: _Optional[int] = ..., sessions: _Optional[int] = ..., bytes: _Optional[int] = ...) -> None: ...
