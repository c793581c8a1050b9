from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Transact(_message.Message):
    __slots__ = ("session", "connection", "identities", "enforce_quotas", "type", "request")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    CONNECTION_FIELD_NUMBER: _ClassVar[int]
    IDENTITIES_FIELD_NUMBER: _ClassVar[int]
    ENFORCE_QUOTAS_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    session: int
    connection: int
    identities: _containers.RepeatedCompositeFieldContainer[Identity]
    enforce_quotas: bool
    type: int
    request: bytes
    def __init__(self, session: _Optional[int] = ..., connection: _Optional[int] = ..., identities: _Optional[_Iterable[_Union[Identity, _Mapping]]] = ..., enforce_quotas: bool = ..., type: _Optional[int] = ..., request: _Optional[bytes] = ...) -> None: ...

class Identity(_message.Message):
    __slots__ = ("scheme", "id")
    SCHEME_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    scheme: str
    id: str
    def __init__(self, scheme: _Optional[str] = ..., id: _Optional[str] = ...) -> None: ...

class Transacted(_message.Message):
    __slots__ = ("zxid", "error", "body")
    ZXID_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    BODY_FIELD_NUMBER: _ClassVar[int]
    zxid: int
    error: int
    body: bytes
    def __init__(self, zxid: _Optional[int] = ..., error: _Optional[int] = ..., body: _Optional[bytes] = ...) -> None: ...

class OpenSession(_message.Message):
    __slots__ = ("timeout_ms", "password_sha256")
    TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    PASSWORD_SHA256_FIELD_NUMBER: _ClassVar[int]
    timeout_ms: int
    password_sha256: bytes
    def __init__(self, timeout_ms: _Optional[int] = ..., password_sha256: _Optional[bytes] = ...) -> None: ...

class AttachSession(_message.Message):
    __slots__ = ("session", "timeout_ms", "password_sha256")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    PASSWORD_SHA256_FIELD_NUMBER: _ClassVar[int]
    session: int
    timeout_ms: int
    password_sha256: bytes
    def __init__(self, session: _Optional[int] = ..., timeout_ms: _Optional[int] = ..., password_sha256: _Optional[bytes] = ...) -> None: ...

class SessionOpened(_message.Message):
    __slots__ = ("session", "connection")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    CONNECTION_FIELD_NUMBER: _ClassVar[int]
    session: int
    connection: int
    def __init__(self, session: _Optional[int] = ..., connection: _Optional[int] = ...) -> None: ...

class CloseSession(_message.Message):
    __slots__ = ("session", "connection")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    CONNECTION_FIELD_NUMBER: _ClassVar[int]
    session: int
    connection: int
    def __init__(self, session: _Optional[int] = ..., connection: _Optional[int] = ...) -> None: ...

class RenewSessions(_message.Message):
    __slots__ = ("sessions",)
    SESSIONS_FIELD_NUMBER: _ClassVar[int]
    sessions: _containers.RepeatedCompositeFieldContainer[Activity]
    def __init__(self, sessions: _Optional[_Iterable[_Union[Activity, _Mapping]]] = ...) -> None: ...

class Activity(_message.Message):
    __slots__ = ("session", "idle_ms")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    IDLE_MS_FIELD_NUMBER: _ClassVar[int]
    session: int
    idle_ms: int
    def __init__(self, session: _Optional[int] = ..., idle_ms: _Optional[int] = ...) -> None: ...

class SessionsRenewed(_message.Message):
    __slots__ = ("ended",)
    ENDED_FIELD_NUMBER: _ClassVar[int]
    ended: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, ended: _Optional[_Iterable[int]] = ...) -> None: ...

class ExpireSessions(_message.Message):
    __slots__ = ("keys",)
    KEYS_FIELD_NUMBER: _ClassVar[int]
    keys: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, keys: _Optional[_Iterable[bytes]] = ...) -> None: ...

class Reap(_message.Message):
    __slots__ = ("keys",)
    KEYS_FIELD_NUMBER: _ClassVar[int]
    keys: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, keys: _Optional[_Iterable[bytes]] = ...) -> None: ...
