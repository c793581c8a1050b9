from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class EntryBatch(_message.Message):
    __slots__ = ("proposed_at_ms", "checked_index", "checksum", "commands")
    PROPOSED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    CHECKED_INDEX_FIELD_NUMBER: _ClassVar[int]
    CHECKSUM_FIELD_NUMBER: _ClassVar[int]
    COMMANDS_FIELD_NUMBER: _ClassVar[int]
    proposed_at_ms: int
    checked_index: int
    checksum: int
    commands: _containers.RepeatedCompositeFieldContainer[LoggedCommand]
    def __init__(self, proposed_at_ms: _Optional[int] = ..., checked_index: _Optional[int] = ..., checksum: _Optional[int] = ..., commands: _Optional[_Iterable[_Union[LoggedCommand, _Mapping]]] = ...) -> None: ...

class LoggedCommand(_message.Message):
    __slots__ = ("type", "payload", "slots", "stamp", "slotless", "fence")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    STAMP_FIELD_NUMBER: _ClassVar[int]
    SLOTLESS_FIELD_NUMBER: _ClassVar[int]
    FENCE_FIELD_NUMBER: _ClassVar[int]
    type: str
    payload: bytes
    slots: _containers.RepeatedScalarFieldContainer[int]
    stamp: Stamp
    slotless: bool
    fence: Fence
    def __init__(self, type: _Optional[str] = ..., payload: _Optional[bytes] = ..., slots: _Optional[_Iterable[int]] = ..., stamp: _Optional[_Union[Stamp, _Mapping]] = ..., slotless: bool = ..., fence: _Optional[_Union[Fence, _Mapping]] = ...) -> None: ...

class Fence(_message.Message):
    __slots__ = ("name", "token")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    name: bytes
    token: int
    def __init__(self, name: _Optional[bytes] = ..., token: _Optional[int] = ...) -> None: ...

class Stamp(_message.Message):
    __slots__ = ("session", "sequence", "lowest_unanswered")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    LOWEST_UNANSWERED_FIELD_NUMBER: _ClassVar[int]
    session: int
    sequence: int
    lowest_unanswered: int
    def __init__(self, session: _Optional[int] = ..., sequence: _Optional[int] = ..., lowest_unanswered: _Optional[int] = ...) -> None: ...
