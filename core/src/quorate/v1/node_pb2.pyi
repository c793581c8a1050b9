from google.rpc import status_pb2 as _status_pb2
from quorate.v1 import admin_pb2 as _admin_pb2
from quorate.v1 import control_pb2 as _control_pb2
from quorate.v1 import levels_pb2 as _levels_pb2
from quorate.v1 import entry_pb2 as _entry_pb2
from quorate.v1 import watch_pb2 as _watch_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ForwardRequest(_message.Message):
    __slots__ = ("parts",)
    PARTS_FIELD_NUMBER: _ClassVar[int]
    parts: _containers.RepeatedCompositeFieldContainer[ForwardedPart]
    def __init__(self, parts: _Optional[_Iterable[_Union[ForwardedPart, _Mapping]]] = ...) -> None: ...

class ForwardedPart(_message.Message):
    __slots__ = ("id", "shard", "commands", "span")
    ID_FIELD_NUMBER: _ClassVar[int]
    SHARD_FIELD_NUMBER: _ClassVar[int]
    COMMANDS_FIELD_NUMBER: _ClassVar[int]
    SPAN_FIELD_NUMBER: _ClassVar[int]
    id: int
    shard: str
    commands: _containers.RepeatedCompositeFieldContainer[ForwardedCommand]
    span: str
    def __init__(self, id: _Optional[int] = ..., shard: _Optional[str] = ..., commands: _Optional[_Iterable[_Union[ForwardedCommand, _Mapping]]] = ..., span: _Optional[str] = ...) -> None: ...

class ForwardedCommand(_message.Message):
    __slots__ = ("command", "caller", "timeout_ms", "admitted", "request")
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    CALLER_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    ADMITTED_FIELD_NUMBER: _ClassVar[int]
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    command: _entry_pb2.LoggedCommand
    caller: str
    timeout_ms: int
    admitted: bool
    request: str
    def __init__(self, command: _Optional[_Union[_entry_pb2.LoggedCommand, _Mapping]] = ..., caller: _Optional[str] = ..., timeout_ms: _Optional[int] = ..., admitted: bool = ..., request: _Optional[str] = ...) -> None: ...

class ForwardResponse(_message.Message):
    __slots__ = ("parts",)
    PARTS_FIELD_NUMBER: _ClassVar[int]
    parts: _containers.RepeatedCompositeFieldContainer[PartAnswer]
    def __init__(self, parts: _Optional[_Iterable[_Union[PartAnswer, _Mapping]]] = ...) -> None: ...

class PartAnswer(_message.Message):
    __slots__ = ("id", "answers")
    ID_FIELD_NUMBER: _ClassVar[int]
    ANSWERS_FIELD_NUMBER: _ClassVar[int]
    id: int
    answers: _containers.RepeatedCompositeFieldContainer[ForwardAnswer]
    def __init__(self, id: _Optional[int] = ..., answers: _Optional[_Iterable[_Union[ForwardAnswer, _Mapping]]] = ...) -> None: ...

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
    __slots__ = ("shard", "type", "payload", "row", "stale", "min_revision", "caller", "timeout_ms", "method", "request", "slots_version")
    SHARD_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    ROW_FIELD_NUMBER: _ClassVar[int]
    STALE_FIELD_NUMBER: _ClassVar[int]
    MIN_REVISION_FIELD_NUMBER: _ClassVar[int]
    CALLER_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    METHOD_FIELD_NUMBER: _ClassVar[int]
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    SLOTS_VERSION_FIELD_NUMBER: _ClassVar[int]
    shard: str
    type: str
    payload: bytes
    row: str
    stale: bool
    min_revision: int
    caller: str
    timeout_ms: int
    method: str
    request: bytes
    slots_version: int
    def __init__(self, shard: _Optional[str] = ..., type: _Optional[str] = ..., payload: _Optional[bytes] = ..., row: _Optional[str] = ..., stale: bool = ..., min_revision: _Optional[int] = ..., caller: _Optional[str] = ..., timeout_ms: _Optional[int] = ..., method: _Optional[str] = ..., request: _Optional[bytes] = ..., slots_version: _Optional[int] = ...) -> None: ...

class ShardQueryResponse(_message.Message):
    __slots__ = ("revision", "age_ms", "rows", "published")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    AGE_MS_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    PUBLISHED_FIELD_NUMBER: _ClassVar[int]
    revision: int
    age_ms: int
    rows: _containers.RepeatedScalarFieldContainer[bytes]
    published: int
    def __init__(self, revision: _Optional[int] = ..., age_ms: _Optional[int] = ..., rows: _Optional[_Iterable[bytes]] = ..., published: _Optional[int] = ...) -> None: ...

class MarkRequest(_message.Message):
    __slots__ = ("shard", "timeout_ms")
    SHARD_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    shard: str
    timeout_ms: int
    def __init__(self, shard: _Optional[str] = ..., timeout_ms: _Optional[int] = ...) -> None: ...

class MarkResponse(_message.Message):
    __slots__ = ("revision", "generation")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    revision: int
    generation: int
    def __init__(self, revision: _Optional[int] = ..., generation: _Optional[int] = ...) -> None: ...

class FeedRequest(_message.Message):
    __slots__ = ("start",)
    START_FIELD_NUMBER: _ClassVar[int]
    start: FeedStart
    def __init__(self, start: _Optional[_Union[FeedStart, _Mapping]] = ...) -> None: ...

class FeedStart(_message.Message):
    __slots__ = ("shard", "families", "behind", "not_before")
    SHARD_FIELD_NUMBER: _ClassVar[int]
    FAMILIES_FIELD_NUMBER: _ClassVar[int]
    BEHIND_FIELD_NUMBER: _ClassVar[int]
    NOT_BEFORE_FIELD_NUMBER: _ClassVar[int]
    shard: str
    families: _containers.RepeatedCompositeFieldContainer[_watch_pb2.WatchedFamily]
    behind: FeedPosition
    not_before: int
    def __init__(self, shard: _Optional[str] = ..., families: _Optional[_Iterable[_Union[_watch_pb2.WatchedFamily, _Mapping]]] = ..., behind: _Optional[_Union[FeedPosition, _Mapping]] = ..., not_before: _Optional[int] = ...) -> None: ...

class FeedPosition(_message.Message):
    __slots__ = ("generation", "revision")
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    generation: int
    revision: int
    def __init__(self, generation: _Optional[int] = ..., revision: _Optional[int] = ...) -> None: ...

class FeedResponse(_message.Message):
    __slots__ = ("generation", "age_ms", "page", "lost")
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    AGE_MS_FIELD_NUMBER: _ClassVar[int]
    PAGE_FIELD_NUMBER: _ClassVar[int]
    LOST_FIELD_NUMBER: _ClassVar[int]
    generation: int
    age_ms: int
    page: FeedPage
    lost: str
    def __init__(self, generation: _Optional[int] = ..., age_ms: _Optional[int] = ..., page: _Optional[_Union[FeedPage, _Mapping]] = ..., lost: _Optional[str] = ...) -> None: ...

class FeedPage(_message.Message):
    __slots__ = ("events", "revision", "listing")
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    LISTING_FIELD_NUMBER: _ClassVar[int]
    events: _containers.RepeatedCompositeFieldContainer[FeedEvent]
    revision: int
    listing: bool
    def __init__(self, events: _Optional[_Iterable[_Union[FeedEvent, _Mapping]]] = ..., revision: _Optional[int] = ..., listing: bool = ...) -> None: ...

class FeedEvent(_message.Message):
    __slots__ = ("revision", "name", "key", "value", "previous", "emitted", "at_ms")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_FIELD_NUMBER: _ClassVar[int]
    EMITTED_FIELD_NUMBER: _ClassVar[int]
    AT_MS_FIELD_NUMBER: _ClassVar[int]
    revision: int
    name: str
    key: bytes
    value: bytes
    previous: bytes
    emitted: bool
    at_ms: int
    def __init__(self, revision: _Optional[int] = ..., name: _Optional[str] = ..., key: _Optional[bytes] = ..., value: _Optional[bytes] = ..., previous: _Optional[bytes] = ..., emitted: bool = ..., at_ms: _Optional[int] = ...) -> None: ...

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

class ChangeMemberRequest(_message.Message):
    __slots__ = ("shard", "node", "replica", "number", "learner")
    SHARD_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    REPLICA_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    LEARNER_FIELD_NUMBER: _ClassVar[int]
    shard: str
    node: str
    replica: int
    number: int
    learner: bool
    def __init__(self, shard: _Optional[str] = ..., node: _Optional[str] = ..., replica: _Optional[int] = ..., number: _Optional[int] = ..., learner: bool = ...) -> None: ...

class ChangeMemberResponse(_message.Message):
    __slots__ = ("step", "done")
    STEP_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    step: str
    done: bool
    def __init__(self, step: _Optional[str] = ..., done: bool = ...) -> None: ...

class NodeIntroduction(_message.Message):
    __slots__ = ("declaration", "nodes", "lost", "levels", "has_been_member")
    DECLARATION_FIELD_NUMBER: _ClassVar[int]
    NODES_FIELD_NUMBER: _ClassVar[int]
    LOST_FIELD_NUMBER: _ClassVar[int]
    LEVELS_FIELD_NUMBER: _ClassVar[int]
    HAS_BEEN_MEMBER_FIELD_NUMBER: _ClassVar[int]
    declaration: _control_pb2.NodeDeclaration
    nodes: _containers.RepeatedCompositeFieldContainer[_admin_pb2.NodeAddress]
    lost: _containers.RepeatedScalarFieldContainer[int]
    levels: _containers.RepeatedCompositeFieldContainer[_levels_pb2.FeatureLevel]
    has_been_member: bool
    def __init__(self, declaration: _Optional[_Union[_control_pb2.NodeDeclaration, _Mapping]] = ..., nodes: _Optional[_Iterable[_Union[_admin_pb2.NodeAddress, _Mapping]]] = ..., lost: _Optional[_Iterable[int]] = ..., levels: _Optional[_Iterable[_Union[_levels_pb2.FeatureLevel, _Mapping]]] = ..., has_been_member: bool = ...) -> None: ...

class ClockRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ClockResponse(_message.Message):
    __slots__ = ("wall_ms", "led", "replica", "full")
    WALL_MS_FIELD_NUMBER: _ClassVar[int]
    LED_FIELD_NUMBER: _ClassVar[int]
    REPLICA_FIELD_NUMBER: _ClassVar[int]
    FULL_FIELD_NUMBER: _ClassVar[int]
    wall_ms: int
    led: _containers.RepeatedCompositeFieldContainer[LedShard]
    replica: int
    full: bool
    def __init__(self, wall_ms: _Optional[int] = ..., led: _Optional[_Iterable[_Union[LedShard, _Mapping]]] = ..., replica: _Optional[int] = ..., full: bool = ...) -> None: ...

class LedShard(_message.Message):
    __slots__ = ("shard", "term", "done")
    SHARD_FIELD_NUMBER: _ClassVar[int]
    TERM_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    shard: str
    term: int
    done: int
    def __init__(self, shard: _Optional[str] = ..., term: _Optional[int] = ..., done: _Optional[int] = ...) -> None: ...
