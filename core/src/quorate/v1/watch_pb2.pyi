from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class WatchRequest(_message.Message):
    __slots__ = ("families", "token", "changes_only", "shards", "until")
    FAMILIES_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    CHANGES_ONLY_FIELD_NUMBER: _ClassVar[int]
    SHARDS_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    families: _containers.RepeatedCompositeFieldContainer[WatchedFamily]
    token: bytes
    changes_only: bool
    shards: _containers.RepeatedScalarFieldContainer[int]
    until: bytes
    def __init__(self, families: _Optional[_Iterable[_Union[WatchedFamily, _Mapping]]] = ..., token: _Optional[bytes] = ..., changes_only: bool = ..., shards: _Optional[_Iterable[int]] = ..., until: _Optional[bytes] = ...) -> None: ...

class WatchedFamily(_message.Message):
    __slots__ = ("name", "prefix")
    NAME_FIELD_NUMBER: _ClassVar[int]
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    name: str
    prefix: bytes
    def __init__(self, name: _Optional[str] = ..., prefix: _Optional[bytes] = ...) -> None: ...

class WatchResponse(_message.Message):
    __slots__ = ("events", "token", "listed", "resync")
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    LISTED_FIELD_NUMBER: _ClassVar[int]
    RESYNC_FIELD_NUMBER: _ClassVar[int]
    events: _containers.RepeatedCompositeFieldContainer[WatchEvent]
    token: bytes
    listed: bool
    resync: Resync
    def __init__(self, events: _Optional[_Iterable[_Union[WatchEvent, _Mapping]]] = ..., token: _Optional[bytes] = ..., listed: bool = ..., resync: _Optional[_Union[Resync, _Mapping]] = ...) -> None: ...

class WatchEvent(_message.Message):
    __slots__ = ("kind", "name", "key", "value", "previous", "revision", "shard", "at_ms")
    class Kind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        KIND_UNSPECIFIED: _ClassVar[WatchEvent.Kind]
        ROW: _ClassVar[WatchEvent.Kind]
        PUT: _ClassVar[WatchEvent.Kind]
        CREATED: _ClassVar[WatchEvent.Kind]
        UPDATED: _ClassVar[WatchEvent.Kind]
        DELETED: _ClassVar[WatchEvent.Kind]
        EMITTED: _ClassVar[WatchEvent.Kind]
    KIND_UNSPECIFIED: WatchEvent.Kind
    ROW: WatchEvent.Kind
    PUT: WatchEvent.Kind
    CREATED: WatchEvent.Kind
    UPDATED: WatchEvent.Kind
    DELETED: WatchEvent.Kind
    EMITTED: WatchEvent.Kind
    KIND_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    SHARD_FIELD_NUMBER: _ClassVar[int]
    AT_MS_FIELD_NUMBER: _ClassVar[int]
    kind: WatchEvent.Kind
    name: str
    key: bytes
    value: bytes
    previous: bytes
    revision: int
    shard: int
    at_ms: int
    def __init__(self, kind: _Optional[_Union[WatchEvent.Kind, str]] = ..., name: _Optional[str] = ..., key: _Optional[bytes] = ..., value: _Optional[bytes] = ..., previous: _Optional[bytes] = ..., revision: _Optional[int] = ..., shard: _Optional[int] = ..., at_ms: _Optional[int] = ...) -> None: ...

class Resync(_message.Message):
    __slots__ = ("reason",)
    REASON_FIELD_NUMBER: _ClassVar[int]
    reason: str
    def __init__(self, reason: _Optional[str] = ...) -> None: ...
