from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Transaction(_message.Message):
    __slots__ = ("revision", "compacted", "cleaned", "walked", "generation", "changes", "more", "sweeps", "walked_key", "swept")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    COMPACTED_FIELD_NUMBER: _ClassVar[int]
    CLEANED_FIELD_NUMBER: _ClassVar[int]
    WALKED_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    MORE_FIELD_NUMBER: _ClassVar[int]
    SWEEPS_FIELD_NUMBER: _ClassVar[int]
    WALKED_KEY_FIELD_NUMBER: _ClassVar[int]
    SWEPT_FIELD_NUMBER: _ClassVar[int]
    revision: int
    compacted: int
    cleaned: int
    walked: Place
    generation: int
    changes: _containers.RepeatedCompositeFieldContainer[Change]
    more: bool
    sweeps: _containers.RepeatedCompositeFieldContainer[Sweep]
    walked_key: bytes
    swept: _containers.RepeatedCompositeFieldContainer[Swept]
    def __init__(self, revision: _Optional[int] = ..., compacted: _Optional[int] = ..., cleaned: _Optional[int] = ..., walked: _Optional[_Union[Place, _Mapping]] = ..., generation: _Optional[int] = ..., changes: _Optional[_Iterable[_Union[Change, _Mapping]]] = ..., more: bool = ..., sweeps: _Optional[_Iterable[_Union[Sweep, _Mapping]]] = ..., walked_key: _Optional[bytes] = ..., swept: _Optional[_Iterable[_Union[Swept, _Mapping]]] = ...) -> None: ...

class Sweep(_message.Message):
    __slots__ = ("place", "start", "end", "lease", "keys")
    PLACE_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    KEYS_FIELD_NUMBER: _ClassVar[int]
    place: Place
    start: bytes
    end: bytes
    lease: int
    keys: int
    def __init__(self, place: _Optional[_Union[Place, _Mapping]] = ..., start: _Optional[bytes] = ..., end: _Optional[bytes] = ..., lease: _Optional[int] = ..., keys: _Optional[int] = ...) -> None: ...

class Swept(_message.Message):
    __slots__ = ("revision", "until_ms")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    UNTIL_MS_FIELD_NUMBER: _ClassVar[int]
    revision: int
    until_ms: int
    def __init__(self, revision: _Optional[int] = ..., until_ms: _Optional[int] = ...) -> None: ...

class Change(_message.Message):
    __slots__ = ("key", "deleted", "create_revision", "version", "lease", "value", "previous", "sub")
    KEY_FIELD_NUMBER: _ClassVar[int]
    DELETED_FIELD_NUMBER: _ClassVar[int]
    CREATE_REVISION_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_FIELD_NUMBER: _ClassVar[int]
    SUB_FIELD_NUMBER: _ClassVar[int]
    key: bytes
    deleted: bool
    create_revision: int
    version: int
    lease: int
    value: bytes
    previous: Place
    sub: int
    def __init__(self, key: _Optional[bytes] = ..., deleted: bool = ..., create_revision: _Optional[int] = ..., version: _Optional[int] = ..., lease: _Optional[int] = ..., value: _Optional[bytes] = ..., previous: _Optional[_Union[Place, _Mapping]] = ..., sub: _Optional[int] = ...) -> None: ...

class Place(_message.Message):
    __slots__ = ("revision", "sub", "large")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    SUB_FIELD_NUMBER: _ClassVar[int]
    LARGE_FIELD_NUMBER: _ClassVar[int]
    revision: int
    sub: int
    large: bool
    def __init__(self, revision: _Optional[int] = ..., sub: _Optional[int] = ..., large: bool = ...) -> None: ...

class Version(_message.Message):
    __slots__ = ("place", "create_revision", "version", "lease")
    PLACE_FIELD_NUMBER: _ClassVar[int]
    CREATE_REVISION_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    place: Place
    create_revision: int
    version: int
    lease: int
    def __init__(self, place: _Optional[_Union[Place, _Mapping]] = ..., create_revision: _Optional[int] = ..., version: _Optional[int] = ..., lease: _Optional[int] = ...) -> None: ...

class Revision(_message.Message):
    __slots__ = ("key", "value", "deleted", "create_revision", "version", "lease", "previous", "large", "replaced")
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    DELETED_FIELD_NUMBER: _ClassVar[int]
    CREATE_REVISION_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_FIELD_NUMBER: _ClassVar[int]
    LARGE_FIELD_NUMBER: _ClassVar[int]
    REPLACED_FIELD_NUMBER: _ClassVar[int]
    key: bytes
    value: bytes
    deleted: bool
    create_revision: int
    version: int
    lease: int
    previous: Place
    large: bool
    replaced: Place
    def __init__(self, key: _Optional[bytes] = ..., value: _Optional[bytes] = ..., deleted: bool = ..., create_revision: _Optional[int] = ..., version: _Optional[int] = ..., lease: _Optional[int] = ..., previous: _Optional[_Union[Place, _Mapping]] = ..., large: bool = ..., replaced: _Optional[_Union[Place, _Mapping]] = ...) -> None: ...

class Lease(_message.Message):
    __slots__ = ("ttl_s",)
    TTL_S_FIELD_NUMBER: _ClassVar[int]
    ttl_s: int
    def __init__(self, ttl_s: _Optional[int] = ...) -> None: ...
