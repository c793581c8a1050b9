from google.rpc import status_pb2 as _status_pb2
from quorate.v1 import entry_pb2 as _entry_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ForwardRequest(_message.Message):
    __slots__ = ("shard", "commands")
    SHARD_FIELD_NUMBER: _ClassVar[int]
    COMMANDS_FIELD_NUMBER: _ClassVar[int]
    shard: str
    commands: _containers.RepeatedCompositeFieldContainer[ForwardedCommand]
    def __init__(self, shard: _Optional[str] = ..., commands: _Optional[_Iterable[_Union[ForwardedCommand, _Mapping]]] = ...) -> None: ...

class ForwardedCommand(_message.Message):
    __slots__ = ("command", "caller", "timeout_ms")
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    CALLER_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    command: _entry_pb2.LoggedCommand
    caller: str
    timeout_ms: int
    def __init__(self, command: _Optional[_Union[_entry_pb2.LoggedCommand, _Mapping]] = ..., caller: _Optional[str] = ..., timeout_ms: _Optional[int] = ...) -> None: ...

class ForwardResponse(_message.Message):
    __slots__ = ("answers",)
    ANSWERS_FIELD_NUMBER: _ClassVar[int]
    answers: _containers.RepeatedCompositeFieldContainer[ForwardAnswer]
    def __init__(self, answers: _Optional[_Iterable[_Union[ForwardAnswer, _Mapping]]] = ...) -> None: ...

class ForwardAnswer(_message.Message):
    __slots__ = ("outcome", "status")
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    outcome: ForwardOutcome
    status: _status_pb2.Status
    def __init__(self, outcome: _Optional[_Union[ForwardOutcome, _Mapping]] = ..., status: _Optional[_Union[_status_pb2.Status, _Mapping]] = ...) -> None: ...

class ForwardOutcome(_message.Message):
    __slots__ = ("revision", "reply", "refusal", "forgotten")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    REPLY_FIELD_NUMBER: _ClassVar[int]
    REFUSAL_FIELD_NUMBER: _ClassVar[int]
    FORGOTTEN_FIELD_NUMBER: _ClassVar[int]
    revision: int
    reply: bytes
    refusal: ForwardRefusal
    forgotten: bool
    def __init__(self, revision: _Optional[int] = ..., reply: _Optional[bytes] = ..., refusal: _Optional[_Union[ForwardRefusal, _Mapping]] = ..., forgotten: bool = ...) -> None: ...

class ForwardRefusal(_message.Message):
    __slots__ = ("code", "message")
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    code: str
    message: str
    def __init__(self, code: _Optional[str] = ..., message: _Optional[str] = ...) -> None: ...

class ShardQueryRequest(_message.Message):
    __slots__ = ("shard", "type", "payload", "row", "stale", "min_revision", "caller", "timeout_ms")
    SHARD_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    ROW_FIELD_NUMBER: _ClassVar[int]
    STALE_FIELD_NUMBER: _ClassVar[int]
    MIN_REVISION_FIELD_NUMBER: _ClassVar[int]
    CALLER_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    shard: str
    type: str
    payload: bytes
    row: str
    stale: bool
    min_revision: int
    caller: str
    timeout_ms: int
    def __init__(self, shard: _Optional[str] = ..., type: _Optional[str] = ..., payload: _Optional[bytes] = ..., row: _Optional[str] = ..., stale: bool = ..., min_revision: _Optional[int] = ..., caller: _Optional[str] = ..., timeout_ms: _Optional[int] = ...) -> None: ...

class ShardQueryResponse(_message.Message):
    __slots__ = ("revision", "age_ms", "rows")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    AGE_MS_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    revision: int
    age_ms: int
    rows: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, revision: _Optional[int] = ..., age_ms: _Optional[int] = ..., rows: _Optional[_Iterable[bytes]] = ...) -> None: ...

class MembershipRequest(_message.Message):
    __slots__ = ("shard",)
    SHARD_FIELD_NUMBER: _ClassVar[int]
    shard: str
    def __init__(self, shard: _Optional[str] = ...) -> None: ...

class MembershipResponse(_message.Message):
    __slots__ = ("index", "configuration")
    INDEX_FIELD_NUMBER: _ClassVar[int]
    CONFIGURATION_FIELD_NUMBER: _ClassVar[int]
    index: int
    configuration: bytes
    def __init__(self, index: _Optional[int] = ..., configuration: _Optional[bytes] = ...) -> None: ...

class ClockRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ClockResponse(_message.Message):
    __slots__ = ("wall_ms",)
    WALL_MS_FIELD_NUMBER: _ClassVar[int]
    wall_ms: int
    def __init__(self, wall_ms: _Optional[int] = ...) -> None: ...
