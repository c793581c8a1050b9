from quorate.v1 import levels_pb2 as _levels_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class MemberChange(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MEMBER_CHANGE_UNSPECIFIED: _ClassVar[MemberChange]
    MEMBER_CHANGE_ADD: _ClassVar[MemberChange]
    MEMBER_CHANGE_REMOVE: _ClassVar[MemberChange]
MEMBER_CHANGE_UNSPECIFIED: MemberChange
MEMBER_CHANGE_ADD: MemberChange
MEMBER_CHANGE_REMOVE: MemberChange

class OpenSession(_message.Message):
    __slots__ = ("name", "ttl_ms", "owner", "most", "any")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TTL_MS_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    MOST_FIELD_NUMBER: _ClassVar[int]
    ANY_FIELD_NUMBER: _ClassVar[int]
    name: str
    ttl_ms: int
    owner: str
    most: int
    any: bool
    def __init__(self, name: _Optional[str] = ..., ttl_ms: _Optional[int] = ..., owner: _Optional[str] = ..., most: _Optional[int] = ..., any: bool = ...) -> None: ...

class OpenSessionReply(_message.Message):
    __slots__ = ("session",)
    SESSION_FIELD_NUMBER: _ClassVar[int]
    session: int
    def __init__(self, session: _Optional[int] = ...) -> None: ...

class SealSession(_message.Message):
    __slots__ = ("name", "caller", "most")
    NAME_FIELD_NUMBER: _ClassVar[int]
    CALLER_FIELD_NUMBER: _ClassVar[int]
    MOST_FIELD_NUMBER: _ClassVar[int]
    name: str
    caller: str
    most: int
    def __init__(self, name: _Optional[str] = ..., caller: _Optional[str] = ..., most: _Optional[int] = ...) -> None: ...

class SealSessionReply(_message.Message):
    __slots__ = ("session", "revisions")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    REVISIONS_FIELD_NUMBER: _ClassVar[int]
    session: int
    revisions: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, session: _Optional[int] = ..., revisions: _Optional[_Iterable[int]] = ...) -> None: ...

class CloseSession(_message.Message):
    __slots__ = ("session", "caller")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    CALLER_FIELD_NUMBER: _ClassVar[int]
    session: int
    caller: str
    def __init__(self, session: _Optional[int] = ..., caller: _Optional[str] = ...) -> None: ...

class AdoptSlots(_message.Message):
    __slots__ = ("version", "slots")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    version: int
    slots: bytes
    def __init__(self, version: _Optional[int] = ..., slots: _Optional[bytes] = ...) -> None: ...

class PlaceLeader(_message.Message):
    __slots__ = ("node",)
    NODE_FIELD_NUMBER: _ClassVar[int]
    node: str
    def __init__(self, node: _Optional[str] = ...) -> None: ...

class AdoptMirror(_message.Message):
    __slots__ = ("family", "revision", "rows", "deleted", "reset", "generation")
    FAMILY_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    DELETED_FIELD_NUMBER: _ClassVar[int]
    RESET_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    family: str
    revision: int
    rows: _containers.RepeatedCompositeFieldContainer[MirroredRow]
    deleted: _containers.RepeatedScalarFieldContainer[bytes]
    reset: bool
    generation: int
    def __init__(self, family: _Optional[str] = ..., revision: _Optional[int] = ..., rows: _Optional[_Iterable[_Union[MirroredRow, _Mapping]]] = ..., deleted: _Optional[_Iterable[bytes]] = ..., reset: bool = ..., generation: _Optional[int] = ...) -> None: ...

class MirroredRow(_message.Message):
    __slots__ = ("key", "value", "revision")
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    key: bytes
    value: bytes
    revision: int
    def __init__(self, key: _Optional[bytes] = ..., value: _Optional[bytes] = ..., revision: _Optional[int] = ...) -> None: ...

class ReportDeclaration(_message.Message):
    __slots__ = ("declaration",)
    DECLARATION_FIELD_NUMBER: _ClassVar[int]
    declaration: NodeDeclaration
    def __init__(self, declaration: _Optional[_Union[NodeDeclaration, _Mapping]] = ...) -> None: ...

class CreateShards(_message.Message):
    __slots__ = ("shards",)
    SHARDS_FIELD_NUMBER: _ClassVar[int]
    shards: _containers.RepeatedCompositeFieldContainer[ShardRow]
    def __init__(self, shards: _Optional[_Iterable[_Union[ShardRow, _Mapping]]] = ...) -> None: ...

class BeginMemberChange(_message.Message):
    __slots__ = ("node", "change", "address", "replica")
    NODE_FIELD_NUMBER: _ClassVar[int]
    CHANGE_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    REPLICA_FIELD_NUMBER: _ClassVar[int]
    node: str
    change: MemberChange
    address: str
    replica: int
    def __init__(self, node: _Optional[str] = ..., change: _Optional[_Union[MemberChange, str]] = ..., address: _Optional[str] = ..., replica: _Optional[int] = ...) -> None: ...

class BeginMemberChangeReply(_message.Message):
    __slots__ = ("number",)
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    number: int
    def __init__(self, number: _Optional[int] = ...) -> None: ...

class FinishMemberChange(_message.Message):
    __slots__ = ("node", "number")
    NODE_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    node: str
    number: int
    def __init__(self, node: _Optional[str] = ..., number: _Optional[int] = ...) -> None: ...

class MoveReplica(_message.Message):
    __slots__ = ("group", "number", "to")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    TO_FIELD_NUMBER: _ClassVar[int]
    FROM_FIELD_NUMBER: _ClassVar[int]
    group: str
    number: int
    to: ShardMember
    def __init__(self, group: _Optional[str] = ..., number: _Optional[int] = ..., to: _Optional[_Union[ShardMember, _Mapping]] = ..., **kwargs) -> None: ...

class FinishMove(_message.Message):
    __slots__ = ("group", "number", "move")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    MOVE_FIELD_NUMBER: _ClassVar[int]
    group: str
    number: int
    move: int
    def __init__(self, group: _Optional[str] = ..., number: _Optional[int] = ..., move: _Optional[int] = ...) -> None: ...

class DrainNode(_message.Message):
    __slots__ = ("node", "drains")
    NODE_FIELD_NUMBER: _ClassVar[int]
    DRAINS_FIELD_NUMBER: _ClassVar[int]
    node: str
    drains: bool
    def __init__(self, node: _Optional[str] = ..., drains: bool = ...) -> None: ...

class BeginSplit(_message.Message):
    __slots__ = ("group", "number", "slots", "most_shards")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    MOST_SHARDS_FIELD_NUMBER: _ClassVar[int]
    group: str
    number: int
    slots: _containers.RepeatedScalarFieldContainer[bytes]
    most_shards: int
    def __init__(self, group: _Optional[str] = ..., number: _Optional[int] = ..., slots: _Optional[_Iterable[bytes]] = ..., most_shards: _Optional[int] = ...) -> None: ...

class BeginSplitReply(_message.Message):
    __slots__ = ("split", "numbers")
    SPLIT_FIELD_NUMBER: _ClassVar[int]
    NUMBERS_FIELD_NUMBER: _ClassVar[int]
    split: int
    numbers: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, split: _Optional[int] = ..., numbers: _Optional[_Iterable[int]] = ...) -> None: ...

class CutShard(_message.Message):
    __slots__ = ("split", "version", "parts", "index")
    SPLIT_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    PARTS_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    split: int
    version: int
    parts: _containers.RepeatedCompositeFieldContainer[ShardPart]
    index: int
    def __init__(self, split: _Optional[int] = ..., version: _Optional[int] = ..., parts: _Optional[_Iterable[_Union[ShardPart, _Mapping]]] = ..., index: _Optional[int] = ...) -> None: ...

class ShardPart(_message.Message):
    __slots__ = ("number", "slots")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    number: int
    slots: bytes
    def __init__(self, number: _Optional[int] = ..., slots: _Optional[bytes] = ...) -> None: ...

class AbandonSplit(_message.Message):
    __slots__ = ("split",)
    SPLIT_FIELD_NUMBER: _ClassVar[int]
    split: int
    def __init__(self, split: _Optional[int] = ...) -> None: ...

class FinishSplit(_message.Message):
    __slots__ = ("group", "number", "split", "index")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    SPLIT_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    group: str
    number: int
    split: int
    index: int
    def __init__(self, group: _Optional[str] = ..., number: _Optional[int] = ..., split: _Optional[int] = ..., index: _Optional[int] = ...) -> None: ...

class BeginMerge(_message.Message):
    __slots__ = ("group", "base", "other")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    BASE_FIELD_NUMBER: _ClassVar[int]
    OTHER_FIELD_NUMBER: _ClassVar[int]
    group: str
    base: int
    other: int
    def __init__(self, group: _Optional[str] = ..., base: _Optional[int] = ..., other: _Optional[int] = ...) -> None: ...

class BeginMergeReply(_message.Message):
    __slots__ = ("merge", "number")
    MERGE_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    merge: int
    number: int
    def __init__(self, merge: _Optional[int] = ..., number: _Optional[int] = ...) -> None: ...

class FreezeShard(_message.Message):
    __slots__ = ("merge", "version", "other", "common")
    MERGE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    OTHER_FIELD_NUMBER: _ClassVar[int]
    COMMON_FIELD_NUMBER: _ClassVar[int]
    merge: int
    version: int
    other: int
    common: int
    def __init__(self, merge: _Optional[int] = ..., version: _Optional[int] = ..., other: _Optional[int] = ..., common: _Optional[int] = ...) -> None: ...

class FreezeShardReply(_message.Message):
    __slots__ = ("index",)
    INDEX_FIELD_NUMBER: _ClassVar[int]
    index: int
    def __init__(self, index: _Optional[int] = ...) -> None: ...

class FrozenShard(_message.Message):
    __slots__ = ("merge", "index", "now_ms", "generation", "united")
    MERGE_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    NOW_MS_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    UNITED_FIELD_NUMBER: _ClassVar[int]
    merge: int
    index: int
    now_ms: int
    generation: int
    united: _containers.RepeatedCompositeFieldContainer[UnitedRow]
    def __init__(self, merge: _Optional[int] = ..., index: _Optional[int] = ..., now_ms: _Optional[int] = ..., generation: _Optional[int] = ..., united: _Optional[_Iterable[_Union[UnitedRow, _Mapping]]] = ...) -> None: ...

class UnitedRow(_message.Message):
    __slots__ = ("family", "key", "value")
    FAMILY_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    family: str
    key: bytes
    value: bytes
    def __init__(self, family: _Optional[str] = ..., key: _Optional[bytes] = ..., value: _Optional[bytes] = ...) -> None: ...

class FinishMerge(_message.Message):
    __slots__ = ("group", "base", "merge", "base_index", "other_index", "term")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    BASE_FIELD_NUMBER: _ClassVar[int]
    MERGE_FIELD_NUMBER: _ClassVar[int]
    BASE_INDEX_FIELD_NUMBER: _ClassVar[int]
    OTHER_INDEX_FIELD_NUMBER: _ClassVar[int]
    TERM_FIELD_NUMBER: _ClassVar[int]
    group: str
    base: int
    merge: int
    base_index: int
    other_index: int
    term: int
    def __init__(self, group: _Optional[str] = ..., base: _Optional[int] = ..., merge: _Optional[int] = ..., base_index: _Optional[int] = ..., other_index: _Optional[int] = ..., term: _Optional[int] = ...) -> None: ...

class CancelMerge(_message.Message):
    __slots__ = ("group", "number", "merge", "reason")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    MERGE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    group: str
    number: int
    merge: int
    reason: str
    def __init__(self, group: _Optional[str] = ..., number: _Optional[int] = ..., merge: _Optional[int] = ..., reason: _Optional[str] = ...) -> None: ...

class SettleMerge(_message.Message):
    __slots__ = ("group", "number", "merge")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    MERGE_FIELD_NUMBER: _ClassVar[int]
    group: str
    number: int
    merge: int
    def __init__(self, group: _Optional[str] = ..., number: _Optional[int] = ..., merge: _Optional[int] = ...) -> None: ...

class ForgetSlots(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ForgetSlotsReply(_message.Message):
    __slots__ = ("rows", "done")
    ROWS_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    rows: int
    done: bool
    def __init__(self, rows: _Optional[int] = ..., done: bool = ...) -> None: ...

class RaiseGeneration(_message.Message):
    __slots__ = ("generation",)
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    generation: int
    def __init__(self, generation: _Optional[int] = ...) -> None: ...

class RecoverShard(_message.Message):
    __slots__ = ("group", "number", "origin")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    group: str
    number: int
    origin: ShardOrigin
    def __init__(self, group: _Optional[str] = ..., number: _Optional[int] = ..., origin: _Optional[_Union[ShardOrigin, _Mapping]] = ...) -> None: ...

class PurgePlugin(_message.Message):
    __slots__ = ("plugin", "count_only", "after_family", "after_key")
    PLUGIN_FIELD_NUMBER: _ClassVar[int]
    COUNT_ONLY_FIELD_NUMBER: _ClassVar[int]
    AFTER_FAMILY_FIELD_NUMBER: _ClassVar[int]
    AFTER_KEY_FIELD_NUMBER: _ClassVar[int]
    plugin: str
    count_only: bool
    after_family: str
    after_key: bytes
    def __init__(self, plugin: _Optional[str] = ..., count_only: bool = ..., after_family: _Optional[str] = ..., after_key: _Optional[bytes] = ...) -> None: ...

class PurgePluginReply(_message.Message):
    __slots__ = ("family", "last_key", "rows")
    FAMILY_FIELD_NUMBER: _ClassVar[int]
    LAST_KEY_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    family: str
    last_key: bytes
    rows: int
    def __init__(self, family: _Optional[str] = ..., last_key: _Optional[bytes] = ..., rows: _Optional[int] = ...) -> None: ...

class NodeDeclaration(_message.Message):
    __slots__ = ("node", "replica", "address", "groups", "fingerprint", "commands", "machine", "zone", "version", "levels")
    NODE_FIELD_NUMBER: _ClassVar[int]
    REPLICA_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    COMMANDS_FIELD_NUMBER: _ClassVar[int]
    MACHINE_FIELD_NUMBER: _ClassVar[int]
    ZONE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    LEVELS_FIELD_NUMBER: _ClassVar[int]
    node: str
    replica: int
    address: str
    groups: _containers.RepeatedCompositeFieldContainer[DeclaredGroup]
    fingerprint: str
    commands: _containers.RepeatedScalarFieldContainer[str]
    machine: str
    zone: str
    version: str
    levels: _containers.RepeatedCompositeFieldContainer[_levels_pb2.FeatureLevel]
    def __init__(self, node: _Optional[str] = ..., replica: _Optional[int] = ..., address: _Optional[str] = ..., groups: _Optional[_Iterable[_Union[DeclaredGroup, _Mapping]]] = ..., fingerprint: _Optional[str] = ..., commands: _Optional[_Iterable[str]] = ..., machine: _Optional[str] = ..., zone: _Optional[str] = ..., version: _Optional[str] = ..., levels: _Optional[_Iterable[_Union[_levels_pb2.FeatureLevel, _Mapping]]] = ...) -> None: ...

class RaiseLevels(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RaiseLevelsReply(_message.Message):
    __slots__ = ("levels",)
    LEVELS_FIELD_NUMBER: _ClassVar[int]
    levels: _containers.RepeatedCompositeFieldContainer[_levels_pb2.FeatureLevel]
    def __init__(self, levels: _Optional[_Iterable[_Union[_levels_pb2.FeatureLevel, _Mapping]]] = ...) -> None: ...

class MemberRow(_message.Message):
    __slots__ = ("node", "address", "replica", "change", "number", "drains")
    NODE_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    REPLICA_FIELD_NUMBER: _ClassVar[int]
    CHANGE_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    DRAINS_FIELD_NUMBER: _ClassVar[int]
    node: str
    address: str
    replica: int
    change: MemberChange
    number: int
    drains: bool
    def __init__(self, node: _Optional[str] = ..., address: _Optional[str] = ..., replica: _Optional[int] = ..., change: _Optional[_Union[MemberChange, str]] = ..., number: _Optional[int] = ..., drains: bool = ...) -> None: ...

class DeclaredGroup(_message.Message):
    __slots__ = ("name", "shards", "replicas")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SHARDS_FIELD_NUMBER: _ClassVar[int]
    REPLICAS_FIELD_NUMBER: _ClassVar[int]
    name: str
    shards: int
    replicas: int
    def __init__(self, name: _Optional[str] = ..., shards: _Optional[int] = ..., replicas: _Optional[int] = ...) -> None: ...

class ShardRow(_message.Message):
    __slots__ = ("group", "number", "slots", "version", "members", "replicas", "origin", "move", "split", "parent", "drawn", "merge", "union", "merged_into", "unmerged")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    MEMBERS_FIELD_NUMBER: _ClassVar[int]
    REPLICAS_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    MOVE_FIELD_NUMBER: _ClassVar[int]
    SPLIT_FIELD_NUMBER: _ClassVar[int]
    PARENT_FIELD_NUMBER: _ClassVar[int]
    DRAWN_FIELD_NUMBER: _ClassVar[int]
    MERGE_FIELD_NUMBER: _ClassVar[int]
    UNION_FIELD_NUMBER: _ClassVar[int]
    MERGED_INTO_FIELD_NUMBER: _ClassVar[int]
    UNMERGED_FIELD_NUMBER: _ClassVar[int]
    group: str
    number: int
    slots: bytes
    version: int
    members: _containers.RepeatedCompositeFieldContainer[ShardMember]
    replicas: _containers.RepeatedCompositeFieldContainer[ShardMember]
    origin: ShardOrigin
    move: ReplicaMove
    split: ShardSplit
    parent: ShardParent
    drawn: int
    merge: ShardMerge
    union: ShardUnion
    merged_into: int
    unmerged: str
    def __init__(self, group: _Optional[str] = ..., number: _Optional[int] = ..., slots: _Optional[bytes] = ..., version: _Optional[int] = ..., members: _Optional[_Iterable[_Union[ShardMember, _Mapping]]] = ..., replicas: _Optional[_Iterable[_Union[ShardMember, _Mapping]]] = ..., origin: _Optional[_Union[ShardOrigin, _Mapping]] = ..., move: _Optional[_Union[ReplicaMove, _Mapping]] = ..., split: _Optional[_Union[ShardSplit, _Mapping]] = ..., parent: _Optional[_Union[ShardParent, _Mapping]] = ..., drawn: _Optional[int] = ..., merge: _Optional[_Union[ShardMerge, _Mapping]] = ..., union: _Optional[_Union[ShardUnion, _Mapping]] = ..., merged_into: _Optional[int] = ..., unmerged: _Optional[str] = ...) -> None: ...

class ShardMerge(_message.Message):
    __slots__ = ("number", "base", "other", "into", "common")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    BASE_FIELD_NUMBER: _ClassVar[int]
    OTHER_FIELD_NUMBER: _ClassVar[int]
    INTO_FIELD_NUMBER: _ClassVar[int]
    COMMON_FIELD_NUMBER: _ClassVar[int]
    number: int
    base: int
    other: int
    into: int
    common: int
    def __init__(self, number: _Optional[int] = ..., base: _Optional[int] = ..., other: _Optional[int] = ..., into: _Optional[int] = ..., common: _Optional[int] = ...) -> None: ...

class ShardUnion(_message.Message):
    __slots__ = ("merge", "base", "other", "base_index", "other_index", "members", "ancestor", "common", "settled", "term")
    MERGE_FIELD_NUMBER: _ClassVar[int]
    BASE_FIELD_NUMBER: _ClassVar[int]
    OTHER_FIELD_NUMBER: _ClassVar[int]
    BASE_INDEX_FIELD_NUMBER: _ClassVar[int]
    OTHER_INDEX_FIELD_NUMBER: _ClassVar[int]
    MEMBERS_FIELD_NUMBER: _ClassVar[int]
    ANCESTOR_FIELD_NUMBER: _ClassVar[int]
    COMMON_FIELD_NUMBER: _ClassVar[int]
    SETTLED_FIELD_NUMBER: _ClassVar[int]
    TERM_FIELD_NUMBER: _ClassVar[int]
    merge: int
    base: int
    other: int
    base_index: int
    other_index: int
    members: _containers.RepeatedCompositeFieldContainer[ShardMember]
    ancestor: int
    common: int
    settled: bool
    term: int
    def __init__(self, merge: _Optional[int] = ..., base: _Optional[int] = ..., other: _Optional[int] = ..., base_index: _Optional[int] = ..., other_index: _Optional[int] = ..., members: _Optional[_Iterable[_Union[ShardMember, _Mapping]]] = ..., ancestor: _Optional[int] = ..., common: _Optional[int] = ..., settled: bool = ..., term: _Optional[int] = ...) -> None: ...

class ShardSplit(_message.Message):
    __slots__ = ("number", "parts")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    PARTS_FIELD_NUMBER: _ClassVar[int]
    number: int
    parts: _containers.RepeatedCompositeFieldContainer[ShardPart]
    def __init__(self, number: _Optional[int] = ..., parts: _Optional[_Iterable[_Union[ShardPart, _Mapping]]] = ...) -> None: ...

class ShardParent(_message.Message):
    __slots__ = ("number", "split", "index")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    SPLIT_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    number: int
    split: int
    index: int
    def __init__(self, number: _Optional[int] = ..., split: _Optional[int] = ..., index: _Optional[int] = ...) -> None: ...

class ReplicaMove(_message.Message):
    __slots__ = ("to", "number")
    TO_FIELD_NUMBER: _ClassVar[int]
    FROM_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    to: ShardMember
    number: int
    def __init__(self, to: _Optional[_Union[ShardMember, _Mapping]] = ..., number: _Optional[int] = ..., **kwargs) -> None: ...

class ShardOrigin(_message.Message):
    __slots__ = ("epoch", "node", "empty", "index", "generation")
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    EMPTY_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    epoch: int
    node: str
    empty: bool
    index: int
    generation: int
    def __init__(self, epoch: _Optional[int] = ..., node: _Optional[str] = ..., empty: bool = ..., index: _Optional[int] = ..., generation: _Optional[int] = ...) -> None: ...

class ShardMember(_message.Message):
    __slots__ = ("node", "replica")
    NODE_FIELD_NUMBER: _ClassVar[int]
    REPLICA_FIELD_NUMBER: _ClassVar[int]
    node: str
    replica: int
    def __init__(self, node: _Optional[str] = ..., replica: _Optional[int] = ...) -> None: ...

class CheckRows(_message.Message):
    __slots__ = ("family", "key", "bytes", "index")
    FAMILY_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    family: str
    key: bytes
    bytes: int
    index: int
    def __init__(self, family: _Optional[str] = ..., key: _Optional[bytes] = ..., bytes: _Optional[int] = ..., index: _Optional[int] = ...) -> None: ...

class TrimHistory(_message.Message):
    __slots__ = ("index",)
    INDEX_FIELD_NUMBER: _ClassVar[int]
    index: int
    def __init__(self, index: _Optional[int] = ...) -> None: ...

class ReportRows(_message.Message):
    __slots__ = ("index", "node", "digest")
    INDEX_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    index: int
    node: str
    digest: bytes
    def __init__(self, index: _Optional[int] = ..., node: _Optional[str] = ..., digest: _Optional[bytes] = ...) -> None: ...

class PutCanary(_message.Message):
    __slots__ = ("node", "number")
    NODE_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    node: str
    number: int
    def __init__(self, node: _Optional[str] = ..., number: _Optional[int] = ...) -> None: ...

class PutCanaryReply(_message.Message):
    __slots__ = ("before",)
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    before: int
    def __init__(self, before: _Optional[int] = ...) -> None: ...

class ForgetFences(_message.Message):
    __slots__ = ("prefix", "above")
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    ABOVE_FIELD_NUMBER: _ClassVar[int]
    prefix: bytes
    above: int
    def __init__(self, prefix: _Optional[bytes] = ..., above: _Optional[int] = ...) -> None: ...

class ForgetFencesReply(_message.Message):
    __slots__ = ("forgotten",)
    FORGOTTEN_FIELD_NUMBER: _ClassVar[int]
    forgotten: int
    def __init__(self, forgotten: _Optional[int] = ...) -> None: ...
