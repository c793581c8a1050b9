from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Znode(_message.Message):
    __slots__ = ("data", "acl", "czxid", "mzxid", "created_at_ms", "modified_at_ms", "version", "aversion", "ephemeral_owner", "container", "ttl_ms")
    DATA_FIELD_NUMBER: _ClassVar[int]
    ACL_FIELD_NUMBER: _ClassVar[int]
    CZXID_FIELD_NUMBER: _ClassVar[int]
    MZXID_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    MODIFIED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    AVERSION_FIELD_NUMBER: _ClassVar[int]
    EPHEMERAL_OWNER_FIELD_NUMBER: _ClassVar[int]
    CONTAINER_FIELD_NUMBER: _ClassVar[int]
    TTL_MS_FIELD_NUMBER: _ClassVar[int]
    data: bytes
    acl: _containers.RepeatedCompositeFieldContainer[Acl]
    czxid: int
    mzxid: int
    created_at_ms: int
    modified_at_ms: int
    version: int
    aversion: int
    ephemeral_owner: int
    container: bool
    ttl_ms: int
    def __init__(self, data: _Optional[bytes] = ..., acl: _Optional[_Iterable[_Union[Acl, _Mapping]]] = ..., czxid: _Optional[int] = ..., mzxid: _Optional[int] = ..., created_at_ms: _Optional[int] = ..., modified_at_ms: _Optional[int] = ..., version: _Optional[int] = ..., aversion: _Optional[int] = ..., ephemeral_owner: _Optional[int] = ..., container: bool = ..., ttl_ms: _Optional[int] = ...) -> None: ...

class Acl(_message.Message):
    __slots__ = ("perms", "scheme", "id")
    PERMS_FIELD_NUMBER: _ClassVar[int]
    SCHEME_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    perms: int
    scheme: str
    id: str
    def __init__(self, perms: _Optional[int] = ..., scheme: _Optional[str] = ..., id: _Optional[str] = ...) -> None: ...

class Children(_message.Message):
    __slots__ = ("pzxid", "creates", "count")
    PZXID_FIELD_NUMBER: _ClassVar[int]
    CREATES_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    pzxid: int
    creates: int
    count: int
    def __init__(self, pzxid: _Optional[int] = ..., creates: _Optional[int] = ..., count: _Optional[int] = ...) -> None: ...

class Session(_message.Message):
    __slots__ = ("timeout_ms", "password_sha256", "connection", "ending")
    TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    PASSWORD_SHA256_FIELD_NUMBER: _ClassVar[int]
    CONNECTION_FIELD_NUMBER: _ClassVar[int]
    ENDING_FIELD_NUMBER: _ClassVar[int]
    timeout_ms: int
    password_sha256: bytes
    connection: int
    ending: bool
    def __init__(self, timeout_ms: _Optional[int] = ..., password_sha256: _Optional[bytes] = ..., connection: _Optional[int] = ..., ending: bool = ...) -> None: ...

class Transaction(_message.Message):
    __slots__ = ("changes", "ended_sessions", "attachments", "more")
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    ENDED_SESSIONS_FIELD_NUMBER: _ClassVar[int]
    ATTACHMENTS_FIELD_NUMBER: _ClassVar[int]
    MORE_FIELD_NUMBER: _ClassVar[int]
    changes: _containers.RepeatedCompositeFieldContainer[Change]
    ended_sessions: _containers.RepeatedScalarFieldContainer[int]
    attachments: _containers.RepeatedCompositeFieldContainer[Attachment]
    more: bool
    def __init__(self, changes: _Optional[_Iterable[_Union[Change, _Mapping]]] = ..., ended_sessions: _Optional[_Iterable[int]] = ..., attachments: _Optional[_Iterable[_Union[Attachment, _Mapping]]] = ..., more: bool = ...) -> None: ...

class Change(_message.Message):
    __slots__ = ("kind", "path", "acl", "parent_acl")
    class Kind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        KIND_UNSPECIFIED: _ClassVar[Change.Kind]
        KIND_CREATED: _ClassVar[Change.Kind]
        KIND_DELETED: _ClassVar[Change.Kind]
        KIND_DATA: _ClassVar[Change.Kind]
    KIND_UNSPECIFIED: Change.Kind
    KIND_CREATED: Change.Kind
    KIND_DELETED: Change.Kind
    KIND_DATA: Change.Kind
    KIND_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    ACL_FIELD_NUMBER: _ClassVar[int]
    PARENT_ACL_FIELD_NUMBER: _ClassVar[int]
    kind: Change.Kind
    path: str
    acl: _containers.RepeatedCompositeFieldContainer[Acl]
    parent_acl: _containers.RepeatedCompositeFieldContainer[Acl]
    def __init__(self, kind: _Optional[_Union[Change.Kind, str]] = ..., path: _Optional[str] = ..., acl: _Optional[_Iterable[_Union[Acl, _Mapping]]] = ..., parent_acl: _Optional[_Iterable[_Union[Acl, _Mapping]]] = ...) -> None: ...

class Attachment(_message.Message):
    __slots__ = ("session", "connection")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    CONNECTION_FIELD_NUMBER: _ClassVar[int]
    session: int
    connection: int
    def __init__(self, session: _Optional[int] = ..., connection: _Optional[int] = ...) -> None: ...
