from quorate.v1 import levels_pb2 as _levels_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class TopologyRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class TopologyResponse(_message.Message):
    __slots__ = ("cluster_id", "nodes", "shards", "changes_only")
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    NODES_FIELD_NUMBER: _ClassVar[int]
    SHARDS_FIELD_NUMBER: _ClassVar[int]
    CHANGES_ONLY_FIELD_NUMBER: _ClassVar[int]
    cluster_id: bytes
    nodes: _containers.RepeatedCompositeFieldContainer[NodeAddress]
    shards: _containers.RepeatedCompositeFieldContainer[ShardPlace]
    changes_only: bool
    def __init__(self, cluster_id: _Optional[bytes] = ..., nodes: _Optional[_Iterable[_Union[NodeAddress, _Mapping]]] = ..., shards: _Optional[_Iterable[_Union[ShardPlace, _Mapping]]] = ..., changes_only: bool = ...) -> None: ...

class NodeAddress(_message.Message):
    __slots__ = ("node", "address")
    NODE_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    node: str
    address: str
    def __init__(self, node: _Optional[str] = ..., address: _Optional[str] = ...) -> None: ...

class ShardPlace(_message.Message):
    __slots__ = ("group", "number", "slots", "version", "nodes", "leader", "term", "splits_into", "merges_into", "unmerged")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    NODES_FIELD_NUMBER: _ClassVar[int]
    LEADER_FIELD_NUMBER: _ClassVar[int]
    TERM_FIELD_NUMBER: _ClassVar[int]
    SPLITS_INTO_FIELD_NUMBER: _ClassVar[int]
    MERGES_INTO_FIELD_NUMBER: _ClassVar[int]
    UNMERGED_FIELD_NUMBER: _ClassVar[int]
    group: str
    number: int
    slots: bytes
    version: int
    nodes: _containers.RepeatedScalarFieldContainer[str]
    leader: str
    term: int
    splits_into: _containers.RepeatedScalarFieldContainer[int]
    merges_into: int
    unmerged: str
    def __init__(self, group: _Optional[str] = ..., number: _Optional[int] = ..., slots: _Optional[bytes] = ..., version: _Optional[int] = ..., nodes: _Optional[_Iterable[str]] = ..., leader: _Optional[str] = ..., term: _Optional[int] = ..., splits_into: _Optional[_Iterable[int]] = ..., merges_into: _Optional[int] = ..., unmerged: _Optional[str] = ...) -> None: ...

class NodeStatusRequest(_message.Message):
    __slots__ = ("without_replicas",)
    WITHOUT_REPLICAS_FIELD_NUMBER: _ClassVar[int]
    without_replicas: bool
    def __init__(self, without_replicas: bool = ...) -> None: ...

class NodeStatusResponse(_message.Message):
    __slots__ = ("node", "address", "http_address", "version", "cluster_id", "started_at_ms", "ready", "plugins", "shards", "broken", "controllers", "paused", "alarms", "machine", "damage", "unopened")
    NODE_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    HTTP_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    STARTED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    READY_FIELD_NUMBER: _ClassVar[int]
    PLUGINS_FIELD_NUMBER: _ClassVar[int]
    SHARDS_FIELD_NUMBER: _ClassVar[int]
    BROKEN_FIELD_NUMBER: _ClassVar[int]
    CONTROLLERS_FIELD_NUMBER: _ClassVar[int]
    PAUSED_FIELD_NUMBER: _ClassVar[int]
    ALARMS_FIELD_NUMBER: _ClassVar[int]
    MACHINE_FIELD_NUMBER: _ClassVar[int]
    DAMAGE_FIELD_NUMBER: _ClassVar[int]
    UNOPENED_FIELD_NUMBER: _ClassVar[int]
    node: str
    address: str
    http_address: str
    version: str
    cluster_id: bytes
    started_at_ms: int
    ready: bool
    plugins: _containers.RepeatedCompositeFieldContainer[PluginVersion]
    shards: _containers.RepeatedCompositeFieldContainer[ReplicaReport]
    broken: _containers.RepeatedCompositeFieldContainer[BrokenReplica]
    controllers: _containers.RepeatedCompositeFieldContainer[ControllerReport]
    paused: _containers.RepeatedScalarFieldContainer[str]
    alarms: _containers.RepeatedScalarFieldContainer[str]
    machine: str
    damage: _containers.RepeatedCompositeFieldContainer[DamageReport]
    unopened: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, node: _Optional[str] = ..., address: _Optional[str] = ..., http_address: _Optional[str] = ..., version: _Optional[str] = ..., cluster_id: _Optional[bytes] = ..., started_at_ms: _Optional[int] = ..., ready: bool = ..., plugins: _Optional[_Iterable[_Union[PluginVersion, _Mapping]]] = ..., shards: _Optional[_Iterable[_Union[ReplicaReport, _Mapping]]] = ..., broken: _Optional[_Iterable[_Union[BrokenReplica, _Mapping]]] = ..., controllers: _Optional[_Iterable[_Union[ControllerReport, _Mapping]]] = ..., paused: _Optional[_Iterable[str]] = ..., alarms: _Optional[_Iterable[str]] = ..., machine: _Optional[str] = ..., damage: _Optional[_Iterable[_Union[DamageReport, _Mapping]]] = ..., unopened: _Optional[_Iterable[str]] = ...) -> None: ...

class DamageReport(_message.Message):
    __slots__ = ("shard", "found_at_ms", "what", "state", "healed_at_ms")
    SHARD_FIELD_NUMBER: _ClassVar[int]
    FOUND_AT_MS_FIELD_NUMBER: _ClassVar[int]
    WHAT_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    HEALED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    shard: str
    found_at_ms: int
    what: str
    state: str
    healed_at_ms: int
    def __init__(self, shard: _Optional[str] = ..., found_at_ms: _Optional[int] = ..., what: _Optional[str] = ..., state: _Optional[str] = ..., healed_at_ms: _Optional[int] = ...) -> None: ...

class PluginVersion(_message.Message):
    __slots__ = ("name", "version", "built_in")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    BUILT_IN_FIELD_NUMBER: _ClassVar[int]
    name: str
    version: str
    built_in: bool
    def __init__(self, name: _Optional[str] = ..., version: _Optional[str] = ..., built_in: bool = ...) -> None: ...

class ReplicaReport(_message.Message):
    __slots__ = ("shard", "role", "term", "leader", "first_index", "last_index", "synced_index", "commit_index", "applied_index", "revision", "now_ms", "generation", "queued", "in_flight", "log_bytes", "age_ms", "stopped", "members", "followers", "commands_applied", "epoch", "excess")
    SHARD_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    TERM_FIELD_NUMBER: _ClassVar[int]
    LEADER_FIELD_NUMBER: _ClassVar[int]
    FIRST_INDEX_FIELD_NUMBER: _ClassVar[int]
    LAST_INDEX_FIELD_NUMBER: _ClassVar[int]
    SYNCED_INDEX_FIELD_NUMBER: _ClassVar[int]
    COMMIT_INDEX_FIELD_NUMBER: _ClassVar[int]
    APPLIED_INDEX_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    NOW_MS_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    QUEUED_FIELD_NUMBER: _ClassVar[int]
    IN_FLIGHT_FIELD_NUMBER: _ClassVar[int]
    LOG_BYTES_FIELD_NUMBER: _ClassVar[int]
    AGE_MS_FIELD_NUMBER: _ClassVar[int]
    STOPPED_FIELD_NUMBER: _ClassVar[int]
    MEMBERS_FIELD_NUMBER: _ClassVar[int]
    FOLLOWERS_FIELD_NUMBER: _ClassVar[int]
    COMMANDS_APPLIED_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    EXCESS_FIELD_NUMBER: _ClassVar[int]
    shard: str
    role: str
    term: int
    leader: str
    first_index: int
    last_index: int
    synced_index: int
    commit_index: int
    applied_index: int
    revision: int
    now_ms: int
    generation: int
    queued: int
    in_flight: int
    log_bytes: int
    age_ms: int
    stopped: str
    members: _containers.RepeatedCompositeFieldContainer[MemberReport]
    followers: _containers.RepeatedCompositeFieldContainer[FollowerReport]
    commands_applied: int
    epoch: int
    excess: str
    def __init__(self, shard: _Optional[str] = ..., role: _Optional[str] = ..., term: _Optional[int] = ..., leader: _Optional[str] = ..., first_index: _Optional[int] = ..., last_index: _Optional[int] = ..., synced_index: _Optional[int] = ..., commit_index: _Optional[int] = ..., applied_index: _Optional[int] = ..., revision: _Optional[int] = ..., now_ms: _Optional[int] = ..., generation: _Optional[int] = ..., queued: _Optional[int] = ..., in_flight: _Optional[int] = ..., log_bytes: _Optional[int] = ..., age_ms: _Optional[int] = ..., stopped: _Optional[str] = ..., members: _Optional[_Iterable[_Union[MemberReport, _Mapping]]] = ..., followers: _Optional[_Iterable[_Union[FollowerReport, _Mapping]]] = ..., commands_applied: _Optional[int] = ..., epoch: _Optional[int] = ..., excess: _Optional[str] = ...) -> None: ...

class MemberReport(_message.Message):
    __slots__ = ("node", "replica", "voter")
    NODE_FIELD_NUMBER: _ClassVar[int]
    REPLICA_FIELD_NUMBER: _ClassVar[int]
    VOTER_FIELD_NUMBER: _ClassVar[int]
    node: str
    replica: int
    voter: bool
    def __init__(self, node: _Optional[str] = ..., replica: _Optional[int] = ..., voter: bool = ...) -> None: ...

class FollowerReport(_message.Message):
    __slots__ = ("node", "mode", "match_index", "next_index", "heard_ago_ms")
    NODE_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    MATCH_INDEX_FIELD_NUMBER: _ClassVar[int]
    NEXT_INDEX_FIELD_NUMBER: _ClassVar[int]
    HEARD_AGO_MS_FIELD_NUMBER: _ClassVar[int]
    node: str
    mode: str
    match_index: int
    next_index: int
    heard_ago_ms: int
    def __init__(self, node: _Optional[str] = ..., mode: _Optional[str] = ..., match_index: _Optional[int] = ..., next_index: _Optional[int] = ..., heard_ago_ms: _Optional[int] = ...) -> None: ...

class BrokenReplica(_message.Message):
    __slots__ = ("shard", "error", "applied_index", "generation")
    SHARD_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    APPLIED_INDEX_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    shard: str
    error: str
    applied_index: int
    generation: int
    def __init__(self, shard: _Optional[str] = ..., error: _Optional[str] = ..., applied_index: _Optional[int] = ..., generation: _Optional[int] = ...) -> None: ...

class ControllerReport(_message.Message):
    __slots__ = ("name", "shard", "term", "state", "runs", "failures", "error", "progress")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SHARD_FIELD_NUMBER: _ClassVar[int]
    TERM_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    RUNS_FIELD_NUMBER: _ClassVar[int]
    FAILURES_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    name: str
    shard: str
    term: int
    state: str
    runs: int
    failures: int
    error: str
    progress: str
    def __init__(self, name: _Optional[str] = ..., shard: _Optional[str] = ..., term: _Optional[int] = ..., state: _Optional[str] = ..., runs: _Optional[int] = ..., failures: _Optional[int] = ..., error: _Optional[str] = ..., progress: _Optional[str] = ...) -> None: ...

class TransferLeaderRequest(_message.Message):
    __slots__ = ("shard", "node")
    SHARD_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    shard: str
    node: str
    def __init__(self, shard: _Optional[str] = ..., node: _Optional[str] = ...) -> None: ...

class TransferLeaderResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ResetFencesRequest(_message.Message):
    __slots__ = ("prefix", "above")
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    ABOVE_FIELD_NUMBER: _ClassVar[int]
    prefix: bytes
    above: int
    def __init__(self, prefix: _Optional[bytes] = ..., above: _Optional[int] = ...) -> None: ...

class ResetFencesResponse(_message.Message):
    __slots__ = ("forgotten",)
    FORGOTTEN_FIELD_NUMBER: _ClassVar[int]
    forgotten: int
    def __init__(self, forgotten: _Optional[int] = ...) -> None: ...

class MeetMemberRequest(_message.Message):
    __slots__ = ("node", "address")
    NODE_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    node: str
    address: str
    def __init__(self, node: _Optional[str] = ..., address: _Optional[str] = ...) -> None: ...

class MeetMemberResponse(_message.Message):
    __slots__ = ("replica", "member", "member_answers")
    REPLICA_FIELD_NUMBER: _ClassVar[int]
    MEMBER_FIELD_NUMBER: _ClassVar[int]
    MEMBER_ANSWERS_FIELD_NUMBER: _ClassVar[int]
    replica: int
    member: int
    member_answers: bool
    def __init__(self, replica: _Optional[int] = ..., member: _Optional[int] = ..., member_answers: bool = ...) -> None: ...

class AddMemberRequest(_message.Message):
    __slots__ = ("node", "address")
    NODE_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    node: str
    address: str
    def __init__(self, node: _Optional[str] = ..., address: _Optional[str] = ...) -> None: ...

class RemoveMemberRequest(_message.Message):
    __slots__ = ("node", "force")
    NODE_FIELD_NUMBER: _ClassVar[int]
    FORCE_FIELD_NUMBER: _ClassVar[int]
    node: str
    force: bool
    def __init__(self, node: _Optional[str] = ..., force: bool = ...) -> None: ...

class DrainNodeRequest(_message.Message):
    __slots__ = ("node", "undo", "check_only")
    NODE_FIELD_NUMBER: _ClassVar[int]
    UNDO_FIELD_NUMBER: _ClassVar[int]
    CHECK_ONLY_FIELD_NUMBER: _ClassVar[int]
    node: str
    undo: bool
    check_only: bool
    def __init__(self, node: _Optional[str] = ..., undo: bool = ..., check_only: bool = ...) -> None: ...

class DrainNodeResponse(_message.Message):
    __slots__ = ("replicas", "moves")
    REPLICAS_FIELD_NUMBER: _ClassVar[int]
    MOVES_FIELD_NUMBER: _ClassVar[int]
    replicas: int
    moves: _containers.RepeatedCompositeFieldContainer[PlannedMove]
    def __init__(self, replicas: _Optional[int] = ..., moves: _Optional[_Iterable[_Union[PlannedMove, _Mapping]]] = ...) -> None: ...

class MoveReplicaRequest(_message.Message):
    __slots__ = ("shard", "source", "target", "check_only")
    SHARD_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    CHECK_ONLY_FIELD_NUMBER: _ClassVar[int]
    shard: str
    source: str
    target: str
    check_only: bool
    def __init__(self, shard: _Optional[str] = ..., source: _Optional[str] = ..., target: _Optional[str] = ..., check_only: bool = ...) -> None: ...

class MoveReplicaResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class PlacementRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class PlacementResponse(_message.Message):
    __slots__ = ("nodes", "moving", "planned", "problems")
    NODES_FIELD_NUMBER: _ClassVar[int]
    MOVING_FIELD_NUMBER: _ClassVar[int]
    PLANNED_FIELD_NUMBER: _ClassVar[int]
    PROBLEMS_FIELD_NUMBER: _ClassVar[int]
    nodes: _containers.RepeatedCompositeFieldContainer[PlacedNode]
    moving: _containers.RepeatedCompositeFieldContainer[PlannedMove]
    planned: _containers.RepeatedCompositeFieldContainer[PlannedMove]
    problems: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, nodes: _Optional[_Iterable[_Union[PlacedNode, _Mapping]]] = ..., moving: _Optional[_Iterable[_Union[PlannedMove, _Mapping]]] = ..., planned: _Optional[_Iterable[_Union[PlannedMove, _Mapping]]] = ..., problems: _Optional[_Iterable[str]] = ...) -> None: ...

class PlacedNode(_message.Message):
    __slots__ = ("node", "machine", "zone", "drains", "answers", "replicas", "leads")
    NODE_FIELD_NUMBER: _ClassVar[int]
    MACHINE_FIELD_NUMBER: _ClassVar[int]
    ZONE_FIELD_NUMBER: _ClassVar[int]
    DRAINS_FIELD_NUMBER: _ClassVar[int]
    ANSWERS_FIELD_NUMBER: _ClassVar[int]
    REPLICAS_FIELD_NUMBER: _ClassVar[int]
    LEADS_FIELD_NUMBER: _ClassVar[int]
    node: str
    machine: str
    zone: str
    drains: bool
    answers: bool
    replicas: int
    leads: int
    def __init__(self, node: _Optional[str] = ..., machine: _Optional[str] = ..., zone: _Optional[str] = ..., drains: bool = ..., answers: bool = ..., replicas: _Optional[int] = ..., leads: _Optional[int] = ...) -> None: ...

class PlannedMove(_message.Message):
    __slots__ = ("shard", "source", "target")
    SHARD_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    shard: str
    source: str
    target: str
    def __init__(self, shard: _Optional[str] = ..., source: _Optional[str] = ..., target: _Optional[str] = ...) -> None: ...

class SplitShardRequest(_message.Message):
    __slots__ = ("shard", "into", "check_only")
    SHARD_FIELD_NUMBER: _ClassVar[int]
    INTO_FIELD_NUMBER: _ClassVar[int]
    CHECK_ONLY_FIELD_NUMBER: _ClassVar[int]
    shard: str
    into: int
    check_only: bool
    def __init__(self, shard: _Optional[str] = ..., into: _Optional[int] = ..., check_only: bool = ...) -> None: ...

class SplitShardResponse(_message.Message):
    __slots__ = ("parts",)
    PARTS_FIELD_NUMBER: _ClassVar[int]
    parts: _containers.RepeatedCompositeFieldContainer[SplitPart]
    def __init__(self, parts: _Optional[_Iterable[_Union[SplitPart, _Mapping]]] = ...) -> None: ...

class SplitPart(_message.Message):
    __slots__ = ("shard", "slots")
    SHARD_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    shard: str
    slots: int
    def __init__(self, shard: _Optional[str] = ..., slots: _Optional[int] = ...) -> None: ...

class CancelSplitRequest(_message.Message):
    __slots__ = ("shard",)
    SHARD_FIELD_NUMBER: _ClassVar[int]
    shard: str
    def __init__(self, shard: _Optional[str] = ...) -> None: ...

class CancelSplitResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class MergeShardsRequest(_message.Message):
    __slots__ = ("shard", "other", "check_only")
    SHARD_FIELD_NUMBER: _ClassVar[int]
    OTHER_FIELD_NUMBER: _ClassVar[int]
    CHECK_ONLY_FIELD_NUMBER: _ClassVar[int]
    shard: str
    other: str
    check_only: bool
    def __init__(self, shard: _Optional[str] = ..., other: _Optional[str] = ..., check_only: bool = ...) -> None: ...

class MergeShardsResponse(_message.Message):
    __slots__ = ("shard", "slots")
    SHARD_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    shard: str
    slots: int
    def __init__(self, shard: _Optional[str] = ..., slots: _Optional[int] = ...) -> None: ...

class CancelMergeRequest(_message.Message):
    __slots__ = ("shard",)
    SHARD_FIELD_NUMBER: _ClassVar[int]
    shard: str
    def __init__(self, shard: _Optional[str] = ...) -> None: ...

class CancelMergeResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RecoverShardRequest(_message.Message):
    __slots__ = ("shard", "node", "empty", "index", "generation")
    SHARD_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    EMPTY_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    shard: str
    node: str
    empty: bool
    index: int
    generation: int
    def __init__(self, shard: _Optional[str] = ..., node: _Optional[str] = ..., empty: bool = ..., index: _Optional[int] = ..., generation: _Optional[int] = ...) -> None: ...

class RecoverShardResponse(_message.Message):
    __slots__ = ("epoch",)
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    epoch: int
    def __init__(self, epoch: _Optional[int] = ...) -> None: ...

class MemberProgress(_message.Message):
    __slots__ = ("shard", "step", "shards_done", "shards_total")
    SHARD_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    SHARDS_DONE_FIELD_NUMBER: _ClassVar[int]
    SHARDS_TOTAL_FIELD_NUMBER: _ClassVar[int]
    shard: str
    step: str
    shards_done: int
    shards_total: int
    def __init__(self, shard: _Optional[str] = ..., step: _Optional[str] = ..., shards_done: _Optional[int] = ..., shards_total: _Optional[int] = ...) -> None: ...

class PurgePluginRequest(_message.Message):
    __slots__ = ("plugin", "count_only")
    PLUGIN_FIELD_NUMBER: _ClassVar[int]
    COUNT_ONLY_FIELD_NUMBER: _ClassVar[int]
    plugin: str
    count_only: bool
    def __init__(self, plugin: _Optional[str] = ..., count_only: bool = ...) -> None: ...

class PurgedRows(_message.Message):
    __slots__ = ("shard", "family", "rows")
    SHARD_FIELD_NUMBER: _ClassVar[int]
    FAMILY_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    shard: str
    family: str
    rows: int
    def __init__(self, shard: _Optional[str] = ..., family: _Optional[str] = ..., rows: _Optional[int] = ...) -> None: ...

class PauseControllerRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class PauseControllerResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ResumeControllerRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class ResumeControllerResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class BackupRequest(_message.Message):
    __slots__ = ("shards",)
    SHARDS_FIELD_NUMBER: _ClassVar[int]
    shards: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, shards: _Optional[_Iterable[str]] = ...) -> None: ...

class BackupPart(_message.Message):
    __slots__ = ("path", "offset", "content", "size")
    PATH_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    path: str
    offset: int
    content: bytes
    size: int
    def __init__(self, path: _Optional[str] = ..., offset: _Optional[int] = ..., content: _Optional[bytes] = ..., size: _Optional[int] = ...) -> None: ...

class QuotaUsageRequest(_message.Message):
    __slots__ = ("kind", "name")
    KIND_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    kind: str
    name: str
    def __init__(self, kind: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class QuotaUsageResponse(_message.Message):
    __slots__ = ("uses",)
    USES_FIELD_NUMBER: _ClassVar[int]
    uses: _containers.RepeatedCompositeFieldContainer[QuotaUse]
    def __init__(self, uses: _Optional[_Iterable[_Union[QuotaUse, _Mapping]]] = ...) -> None: ...

class QuotaUse(_message.Message):
    __slots__ = ("kind", "name", "quota", "limit", "used", "refused")
    KIND_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    QUOTA_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    USED_FIELD_NUMBER: _ClassVar[int]
    REFUSED_FIELD_NUMBER: _ClassVar[int]
    kind: str
    name: str
    quota: str
    limit: int
    used: int
    refused: int
    def __init__(self, kind: _Optional[str] = ..., name: _Optional[str] = ..., quota: _Optional[str] = ..., limit: _Optional[int] = ..., used: _Optional[int] = ..., refused: _Optional[int] = ...) -> None: ...

class EntriesRequest(_message.Message):
    __slots__ = ("shard", "after")
    SHARD_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    shard: str
    after: int
    def __init__(self, shard: _Optional[str] = ..., after: _Optional[int] = ...) -> None: ...

class EntriesPart(_message.Message):
    __slots__ = ("entries", "complete_until_ms", "needs_backup")
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    COMPLETE_UNTIL_MS_FIELD_NUMBER: _ClassVar[int]
    NEEDS_BACKUP_FIELD_NUMBER: _ClassVar[int]
    entries: _containers.RepeatedCompositeFieldContainer[AppliedEntry]
    complete_until_ms: int
    needs_backup: bool
    def __init__(self, entries: _Optional[_Iterable[_Union[AppliedEntry, _Mapping]]] = ..., complete_until_ms: _Optional[int] = ..., needs_backup: bool = ...) -> None: ...

class AppliedEntry(_message.Message):
    __slots__ = ("index", "term", "kind", "payload")
    INDEX_FIELD_NUMBER: _ClassVar[int]
    TERM_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    index: int
    term: int
    kind: int
    payload: bytes
    def __init__(self, index: _Optional[int] = ..., term: _Optional[int] = ..., kind: _Optional[int] = ..., payload: _Optional[bytes] = ...) -> None: ...

class LevelsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class LevelsResponse(_message.Message):
    __slots__ = ("nodes", "features")
    NODES_FIELD_NUMBER: _ClassVar[int]
    FEATURES_FIELD_NUMBER: _ClassVar[int]
    nodes: _containers.RepeatedCompositeFieldContainer[NodeLevels]
    features: _containers.RepeatedCompositeFieldContainer[_levels_pb2.Feature]
    def __init__(self, nodes: _Optional[_Iterable[_Union[NodeLevels, _Mapping]]] = ..., features: _Optional[_Iterable[_Union[_levels_pb2.Feature, _Mapping]]] = ...) -> None: ...

class NodeLevels(_message.Message):
    __slots__ = ("node", "version", "answers", "levels")
    NODE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    ANSWERS_FIELD_NUMBER: _ClassVar[int]
    LEVELS_FIELD_NUMBER: _ClassVar[int]
    node: str
    version: str
    answers: bool
    levels: _containers.RepeatedCompositeFieldContainer[_levels_pb2.FeatureLevel]
    def __init__(self, node: _Optional[str] = ..., version: _Optional[str] = ..., answers: bool = ..., levels: _Optional[_Iterable[_Union[_levels_pb2.FeatureLevel, _Mapping]]] = ...) -> None: ...

class FinishUpgradeRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class FinishUpgradeResponse(_message.Message):
    __slots__ = ("raised",)
    RAISED_FIELD_NUMBER: _ClassVar[int]
    raised: _containers.RepeatedCompositeFieldContainer[_levels_pb2.FeatureLevel]
    def __init__(self, raised: _Optional[_Iterable[_Union[_levels_pb2.FeatureLevel, _Mapping]]] = ...) -> None: ...

class ExplainKeyRequest(_message.Message):
    __slots__ = ("family", "key", "before_revision")
    FAMILY_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    BEFORE_REVISION_FIELD_NUMBER: _ClassVar[int]
    family: str
    key: bytes
    before_revision: int
    def __init__(self, family: _Optional[str] = ..., key: _Optional[bytes] = ..., before_revision: _Optional[int] = ...) -> None: ...

class ExplainKeyResponse(_message.Message):
    __slots__ = ("shard", "slot", "revision", "deadlines", "changes", "complete_after", "complete", "now_ms")
    SHARD_FIELD_NUMBER: _ClassVar[int]
    SLOT_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    DEADLINES_FIELD_NUMBER: _ClassVar[int]
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    COMPLETE_AFTER_FIELD_NUMBER: _ClassVar[int]
    COMPLETE_FIELD_NUMBER: _ClassVar[int]
    NOW_MS_FIELD_NUMBER: _ClassVar[int]
    shard: str
    slot: int
    revision: int
    deadlines: _containers.RepeatedCompositeFieldContainer[KeyDeadline]
    changes: _containers.RepeatedCompositeFieldContainer[KeyChange]
    complete_after: int
    complete: bool
    now_ms: int
    def __init__(self, shard: _Optional[str] = ..., slot: _Optional[int] = ..., revision: _Optional[int] = ..., deadlines: _Optional[_Iterable[_Union[KeyDeadline, _Mapping]]] = ..., changes: _Optional[_Iterable[_Union[KeyChange, _Mapping]]] = ..., complete_after: _Optional[int] = ..., complete: bool = ..., now_ms: _Optional[int] = ...) -> None: ...

class KeyDeadline(_message.Message):
    __slots__ = ("timer", "key", "at_ms")
    TIMER_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    AT_MS_FIELD_NUMBER: _ClassVar[int]
    timer: str
    key: bytes
    at_ms: int
    def __init__(self, timer: _Optional[str] = ..., key: _Optional[bytes] = ..., at_ms: _Optional[int] = ...) -> None: ...

class KeyChange(_message.Message):
    __slots__ = ("revision", "at_ms", "operation")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    AT_MS_FIELD_NUMBER: _ClassVar[int]
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    revision: int
    at_ms: int
    operation: str
    def __init__(self, revision: _Optional[int] = ..., at_ms: _Optional[int] = ..., operation: _Optional[str] = ...) -> None: ...

class RecordedRequest(_message.Message):
    __slots__ = ("kinds", "shard", "request", "index", "last")
    KINDS_FIELD_NUMBER: _ClassVar[int]
    SHARD_FIELD_NUMBER: _ClassVar[int]
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    LAST_FIELD_NUMBER: _ClassVar[int]
    kinds: _containers.RepeatedScalarFieldContainer[str]
    shard: str
    request: str
    index: int
    last: int
    def __init__(self, kinds: _Optional[_Iterable[str]] = ..., shard: _Optional[str] = ..., request: _Optional[str] = ..., index: _Optional[int] = ..., last: _Optional[int] = ...) -> None: ...

class RecordedPart(_message.Message):
    __slots__ = ("records",)
    RECORDS_FIELD_NUMBER: _ClassVar[int]
    records: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, records: _Optional[_Iterable[str]] = ...) -> None: ...
