from google.rpc import status_pb2 as _status_pb2
from quorate.v1 import batch_pb2 as _batch_pb2
from quorate.v1 import entry_pb2 as _entry_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ExecuteRequest(_message.Message):
    __slots__ = ("commands",)
    COMMANDS_FIELD_NUMBER: _ClassVar[int]
    commands: _containers.RepeatedCompositeFieldContainer[Command]
    def __init__(self, commands: _Optional[_Iterable[_Union[Command, _Mapping]]] = ...) -> None: ...

class Command(_message.Message):
    __slots__ = ("type", "payload", "stamp", "timeout_ms", "fence")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    STAMP_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    FENCE_FIELD_NUMBER: _ClassVar[int]
    type: str
    payload: bytes
    stamp: _entry_pb2.Stamp
    timeout_ms: int
    fence: _entry_pb2.Fence
    def __init__(self, type: _Optional[str] = ..., payload: _Optional[bytes] = ..., stamp: _Optional[_Union[_entry_pb2.Stamp, _Mapping]] = ..., timeout_ms: _Optional[int] = ..., fence: _Optional[_Union[_entry_pb2.Fence, _Mapping]] = ...) -> None: ...

class ExecuteResponse(_message.Message):
    __slots__ = ("answers",)
    ANSWERS_FIELD_NUMBER: _ClassVar[int]
    answers: _containers.RepeatedCompositeFieldContainer[CommandAnswer]
    def __init__(self, answers: _Optional[_Iterable[_Union[CommandAnswer, _Mapping]]] = ...) -> None: ...

class CommandAnswer(_message.Message):
    __slots__ = ("reply", "status")
    REPLY_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    reply: CommandReply
    status: _status_pb2.Status
    def __init__(self, reply: _Optional[_Union[CommandReply, _Mapping]] = ..., status: _Optional[_Union[_status_pb2.Status, _Mapping]] = ...) -> None: ...

class CommandReply(_message.Message):
    __slots__ = ("payload", "revisions", "forgotten")
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    REVISIONS_FIELD_NUMBER: _ClassVar[int]
    FORGOTTEN_FIELD_NUMBER: _ClassVar[int]
    payload: bytes
    revisions: _containers.RepeatedCompositeFieldContainer[_batch_pb2.ShardRevision]
    forgotten: bool
    def __init__(self, payload: _Optional[bytes] = ..., revisions: _Optional[_Iterable[_Union[_batch_pb2.ShardRevision, _Mapping]]] = ..., forgotten: bool = ...) -> None: ...

class StreamRequest(_message.Message):
    __slots__ = ("commands",)
    COMMANDS_FIELD_NUMBER: _ClassVar[int]
    commands: _containers.RepeatedCompositeFieldContainer[Command]
    def __init__(self, commands: _Optional[_Iterable[_Union[Command, _Mapping]]] = ...) -> None: ...

class StreamResponse(_message.Message):
    __slots__ = ("answers",)
    ANSWERS_FIELD_NUMBER: _ClassVar[int]
    answers: _containers.RepeatedCompositeFieldContainer[NumberedAnswer]
    def __init__(self, answers: _Optional[_Iterable[_Union[NumberedAnswer, _Mapping]]] = ...) -> None: ...

class NumberedAnswer(_message.Message):
    __slots__ = ("number", "answer")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    number: int
    answer: CommandAnswer
    def __init__(self, number: _Optional[int] = ..., answer: _Optional[_Union[CommandAnswer, _Mapping]] = ...) -> None: ...

class OpenSessionRequest(_message.Message):
    __slots__ = ("group", "shard_key", "name", "ttl_ms")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    SHARD_KEY_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    TTL_MS_FIELD_NUMBER: _ClassVar[int]
    group: str
    shard_key: bytes
    name: str
    ttl_ms: int
    def __init__(self, group: _Optional[str] = ..., shard_key: _Optional[bytes] = ..., name: _Optional[str] = ..., ttl_ms: _Optional[int] = ...) -> None: ...

class OpenSessionResponse(_message.Message):
    __slots__ = ("session",)
    SESSION_FIELD_NUMBER: _ClassVar[int]
    session: int
    def __init__(self, session: _Optional[int] = ...) -> None: ...

class SealSessionRequest(_message.Message):
    __slots__ = ("group", "shard_key", "name")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    SHARD_KEY_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    group: str
    shard_key: bytes
    name: str
    def __init__(self, group: _Optional[str] = ..., shard_key: _Optional[bytes] = ..., name: _Optional[str] = ...) -> None: ...

class SealSessionResponse(_message.Message):
    __slots__ = ("session", "revisions")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    REVISIONS_FIELD_NUMBER: _ClassVar[int]
    session: int
    revisions: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, session: _Optional[int] = ..., revisions: _Optional[_Iterable[int]] = ...) -> None: ...

class CloseSessionRequest(_message.Message):
    __slots__ = ("group", "shard_key", "session")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    SHARD_KEY_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    group: str
    shard_key: bytes
    session: int
    def __init__(self, group: _Optional[str] = ..., shard_key: _Optional[bytes] = ..., session: _Optional[int] = ...) -> None: ...

class CloseSessionResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
