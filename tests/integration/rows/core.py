"""The rows of the services that every node has."""

from __future__ import annotations

from typing import Any, Final

import grpc
from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.message_factory import GetMessageClass
from grpc_health.v1.health_pb2 import HealthCheckRequest
from grpc_reflection.v1alpha.reflection_pb2 import ServerReflectionRequest
from quorate.rpc.reflection import STABLE
from quorate.v1.admin_pb2 import (
    AddMemberRequest,
    BackupRequest,
    CancelMergeRequest,
    CancelSplitRequest,
    DrainNodeRequest,
    EntriesRequest,
    ExplainKeyRequest,
    MeetMemberRequest,
    MergeShardsRequest,
    MoveReplicaRequest,
    NodeStatusRequest,
    PauseControllerRequest,
    PurgePluginRequest,
    QuotaUsageRequest,
    RecordedRequest,
    RecoverShardRequest,
    RemoveMemberRequest,
    ResetFencesRequest,
    ResumeControllerRequest,
    SplitShardRequest,
    TransferLeaderRequest,
)
from quorate.v1.audit_pb2 import FindWriter, FollowAudit
from quorate.v1.cluster_pb2 import (
    GetBrokerRequest,
    ListBrokersRequest,
    RegisterBroker,
    RegisterBrokers,
    SendHeartbeat,
    SendHeartbeats,
    UnregisterBroker,
    UnregisterBrokers,
)
from quorate.v1.command_pb2 import (
    CloseSessionRequest,
    Command,
    ExecuteRequest,
    OpenSessionRequest,
    SealSessionRequest,
    StreamRequest,
)
from quorate.v1.coordinator_pb2 import (
    AssignCoordinator,
    AssignCoordinators,
    ListCoordinatorsRequest,
    ReleaseCoordinator,
    ReleaseCoordinators,
)
from quorate.v1.files_pb2 import (
    AppliedRequest,
    DropFileSet,
    DropFilesRequest,
    FetchFilesRequest,
    IngestFileSet,
    IngestFilesRequest,
    OpenFilesRequest,
    PublishFilesRequest,
    ReadFileRequest,
    SendFileRequest,
)
from quorate.v1.kv_pb2 import (
    CommitPairs,
    CommitPairsBatch,
    DeletePair,
    DeletePairs,
    GetPairRequest,
    GetPairsRequest,
    ListPairsRequest,
    PairComparison,
    PairOperation,
    PutPair,
    PutPairs,
    TouchPair,
    TouchPairs,
)
from quorate.v1.node_pb2 import (
    ChangeMemberRequest,
    FeedPosition,
    FeedRequest,
    FeedStart,
    ForwardedPart,
    ForwardRequest,
    MarkRequest,
    MembershipRequest,
    ShardQueryRequest,
)
from quorate.v1.quota_pb2 import (
    CreateQuotas,
    DeleteQuotas,
    GetQuotas,
    ListQuotas,
    ListTenantUsages,
    PutQuotas,
    Quota,
    QuotaName,
    UpdateQuotas,
)
from quorate.v1.resource_pb2 import (
    DeleteResource,
    DeleteResources,
    GetResource,
    GetResources,
    ListResources,
    PutResource,
    PutResources,
)
from quorate.v1.schema_pb2 import (
    SCHEMA_KIND_JSON,
    BindSchema,
    BindSchemas,
    CreateSchema,
    CreateSchemas,
    DeleteSchema,
    DeleteSchemas,
    GetSchema,
    ListSchemaBindings,
    ListSchemas,
    PutSchema,
    PutSchemas,
    SchemaBinding,
    UnbindSchema,
    UnbindSchemas,
    UpdateSchema,
    UpdateSchemas,
)
from quorate.v1.tenant_pb2 import (
    CreateTenant,
    CreateTenants,
    DeleteTenantRequest,
    DeleteTenantsRequest,
    GetTenantRequest,
    ListTenants,
    PutTenant,
    PutTenants,
    UpdateTenant,
    UpdateTenants,
)
from quorate.v1.view_pb2 import CloseViewRequest, OpenViewRequest, ReadViewRequest
from quorate.v1.watch_pb2 import WatchedFamily, WatchRequest

from tests.integration.rows import auth
from tests.integration.rows.row import (
    COMMAND,
    KEY,
    MANY,
    NOT_FOUND,
    REFUSED,
    STRANGE,
    TEXT,
    UNIMPLEMENTED,
    VALUE,
    InPlace,
    Row,
    by_method,
)


def command(**fields: object) -> ExecuteRequest:
    return ExecuteRequest(commands=[Command(**fields)])  # type: ignore[arg-type]  # by name


def start(**fields: object) -> FeedRequest:
    return FeedRequest(start=FeedStart(**fields))  # type: ignore[arg-type]  # by name


def put(key: bytes = b"k", **fields: object) -> PutPair:
    return PutPair(key=key, **fields)  # type: ignore[arg-type]  # by name


def commit(*keys: bytes) -> CommitPairs:
    return CommitPairs(operations=[PairOperation(put=put(key)) for key in keys])


def put_schema(name: str = "s", **fields: object) -> PutSchema:
    made = schema(name, **fields)
    return PutSchema.FromString(made.SerializeToString())


def schema(name: str = "s", **fields: object) -> CreateSchema:
    given = {"tenant": "t", "kind": SCHEMA_KIND_JSON, "definition": b"{}", **fields}
    return CreateSchema(name=name, **given)  # type: ignore[arg-type]  # by name


ADMIN: Final = {
    "Topology": Row(empty=None),
    "WatchTopology": Row(empty=None),
    "Status": Row(empty=None, large=((NodeStatusRequest(without_replicas=True), None),)),
    "QuotaUsage": Row(empty=None, large=((QuotaUsageRequest(kind=TEXT, name=TEXT), None),)),
    "TransferLeader": Row(
        empty="shard",
        large=(
            (TransferLeaderRequest(shard="metadata/" + "9" * 5_000, node="n2"), "shard"),
            (TransferLeaderRequest(shard="metadata/0", node=TEXT), "node"),
        ),
        wrong=(
            (TransferLeaderRequest(shard="metadata", node="n2"), "shard"),
            (TransferLeaderRequest(shard="metadata/3", node="n2"), "shard"),
            (TransferLeaderRequest(shard="nothing/0", node="n2"), "shard"),
            (TransferLeaderRequest(shard="metadata/0"), "node"),
            (TransferLeaderRequest(shard="metadata/0", node="n3"), REFUSED),
        ),
    ),
    "DrainNode": Row(
        empty="node",
        large=((DrainNodeRequest(node=TEXT), "node"),),
        wrong=((DrainNodeRequest(node="n3"), NOT_FOUND),),
    ),
    "MoveReplica": Row(
        empty="shard",
        large=((MoveReplicaRequest(shard="metadata/0", source=TEXT, target="n2"), "source"),),
        wrong=(
            (MoveReplicaRequest(shard="metadata", source="n1", target="n2"), "shard"),
            (MoveReplicaRequest(shard="metadata/0", target="n2"), "source"),
            (MoveReplicaRequest(shard="metadata/0", source="n1"), "target"),
        ),
    ),
    "Placement": Row(empty=None),
    "Levels": Row(empty=None),
    "FinishUpgrade": Row(empty=None),
    "SplitShard": Row(
        empty="shard",
        large=((SplitShardRequest(shard="metadata/0", into=1 << 31), REFUSED),),
        wrong=(
            (SplitShardRequest(shard="metadata"), "shard"),
            (SplitShardRequest(shard="nothing/0"), NOT_FOUND),
            (SplitShardRequest(shard="metadata/0", into=1), REFUSED),
        ),
    ),
    "MergeShards": Row(
        empty="shard",
        large=((MergeShardsRequest(shard=TEXT, other="metadata/0"), "shard"),),
        wrong=(
            (MergeShardsRequest(shard="metadata", other="metadata/0"), "shard"),
            (MergeShardsRequest(shard="nothing/0", other="nothing/1"), NOT_FOUND),
            (MergeShardsRequest(shard="metadata/0", other="metadata/0"), REFUSED),
        ),
    ),
    "CancelMerge": Row(
        empty="shard",
        large=((CancelMergeRequest(shard=TEXT), "shard"),),
        wrong=(
            (CancelMergeRequest(shard="metadata"), "shard"),
            (CancelMergeRequest(shard="nothing/0"), REFUSED),
        ),
    ),
    "CancelSplit": Row(
        empty="shard",
        large=((CancelSplitRequest(shard=TEXT), "shard"),),
        wrong=(
            (CancelSplitRequest(shard="metadata"), "shard"),
            (CancelSplitRequest(shard="nothing/0"), REFUSED),
        ),
    ),
    "AddMember": Row(
        empty="node",
        large=(
            (AddMemberRequest(node=TEXT, address="127.0.0.1:1"), "node"),
            (AddMemberRequest(node="n3", address=f"{TEXT}:1"), "address"),
        ),
        wrong=(
            (AddMemberRequest(node=STRANGE, address="127.0.0.1:1"), "node"),
            (AddMemberRequest(node="n3"), "address"),
            (AddMemberRequest(node="n3", address="127.0.0.1"), "address"),
            (AddMemberRequest(node="n3", address="127.0.0.1:70000"), "address"),
        ),
    ),
    "MeetMember": Row(
        empty="node",
        large=(
            (MeetMemberRequest(node=TEXT, address="127.0.0.1:1"), "node"),
            (MeetMemberRequest(node="n3", address=f"{TEXT}:1"), "address"),
        ),
        wrong=(
            (MeetMemberRequest(node=STRANGE, address="127.0.0.1:1"), "node"),
            (MeetMemberRequest(node="n3"), "address"),
            (MeetMemberRequest(node="n3", address="127.0.0.1"), "address"),
        ),
    ),
    "RemoveMember": Row(
        empty="node",
        large=((RemoveMemberRequest(node=TEXT), "node"),),
        wrong=(
            (RemoveMemberRequest(node=STRANGE), "node"),
            (RemoveMemberRequest(node="n3"), NOT_FOUND),
        ),
    ),
    "RecoverShard": Row(
        empty="shard",
        large=(
            (RecoverShardRequest(shard="metadata/" + "9" * 5_000, node="n2"), "shard"),
            (RecoverShardRequest(shard="metadata/0", node=TEXT), "node"),
        ),
        wrong=(
            (RecoverShardRequest(shard="metadata", node="n2"), "shard"),
            (RecoverShardRequest(shard="metadata/0", node="n2"), "shard"),
            (RecoverShardRequest(shard="nothing/0", node="n2"), "shard"),
            (RecoverShardRequest(shard="metadata/0"), "node"),
        ),
    ),
    "PurgePlugin": Row(
        empty="plugin",
        large=((PurgePluginRequest(plugin=TEXT), "plugin"),),
        wrong=((PurgePluginRequest(plugin="kv"), REFUSED),),
    ),
    "ResetFences": Row(
        empty="prefix", large=((ResetFencesRequest(prefix=bytes(1_025)), "prefix"),)
    ),
    "PauseController": Row(empty="name", large=((PauseControllerRequest(name=TEXT), "name"),)),
    "ResumeController": Row(empty="name", large=((ResumeControllerRequest(name=TEXT), "name"),)),
    "Backup": Row(
        empty=None,
        large=((BackupRequest(shards=["metadata/" + "9" * 5_000]), "shards[0]"),),
        wrong=((BackupRequest(shards=["metadata/0", "metadata"]), "shards[1]"),),
    ),
    "Entries": Row(
        empty="shard",
        large=((EntriesRequest(shard="metadata/" + "9" * 5_000), "shard"),),
        wrong=((EntriesRequest(shard="metadata"), "shard"),),
    ),
    "ExplainKey": Row(
        empty="family",
        large=((ExplainKeyRequest(family=TEXT), "family"),),
        wrong=(
            (ExplainKeyRequest(family="nothing", key=b"a"), "family"),
            (ExplainKeyRequest(family="core.events", key=b"a"), "family"),
            (ExplainKeyRequest(family="tenant.quotas", key=b"\xff"), None),
        ),
    ),
    "Recorded": Row(
        empty=None,
        large=(
            (RecordedRequest(shard=TEXT), "shard"),
            (RecordedRequest(request=TEXT), "request"),
            (RecordedRequest(index=2**64 - 1, last=2**32 - 1), None),
        ),
    ),
}

COORDINATOR: Final = AssignCoordinator(role="r", key="k")
RELEASE: Final = ReleaseCoordinator(role="r", key="k")
COORDINATORS: Final = {
    "Get": Row(
        empty="role",
        large=(
            (AssignCoordinator(role=TEXT, key="k"), "role"),
            (AssignCoordinator(role="r", key=TEXT), "key"),
            (AssignCoordinator(role="r", key="k", labels={"l": TEXT}), "labels[l]"),
        ),
        wrong=(
            (AssignCoordinator(role="r", key=STRANGE), "key"),
            (AssignCoordinator(role="r", key="k", labels={"": "v"}), "labels"),
        ),
    ),
    "GetBatch": Row(
        empty=None,
        large=((AssignCoordinators(coordinators=[COORDINATOR] * MANY), "coordinators"),),
        wrong=(
            (
                AssignCoordinators(coordinators=[AssignCoordinator(key="k")]),
                InPlace("coordinators[0].role"),
            ),
        ),
    ),
    "Release": Row(
        empty="role",
        large=((ReleaseCoordinator(role="r", key=TEXT), "key"),),
        wrong=((ReleaseCoordinator(role="r", key=STRANGE), "key"),),
    ),
    "ReleaseBatch": Row(
        empty=None,
        large=((ReleaseCoordinators(coordinators=[RELEASE] * MANY), "coordinators"),),
        wrong=(
            (
                ReleaseCoordinators(coordinators=[ReleaseCoordinator(key="k")]),
                InPlace("coordinators[0].role"),
            ),
        ),
    ),
    "List": Row(
        empty=None,
        large=(
            (ListCoordinatorsRequest(broker=TEXT), "broker"),
            (ListCoordinatorsRequest(page_token=KEY), "page_token"),
        ),
        wrong=((ListCoordinatorsRequest(role=STRANGE), "role"),),
    ),
}
BROKER: Final = RegisterBroker(name="b", cluster_name="c")
LIFE: Final[dict[str, Any]] = {"name": "b", "epoch": 1}
CLUSTER: Final = {
    "Register": Row(
        empty="name",
        large=(
            (RegisterBroker(name=TEXT, cluster_name="c"), "name"),
            (RegisterBroker(name="b", cluster_name=TEXT), "cluster_name"),
            (RegisterBroker(name="b", cluster_name="c", roles=[TEXT]), "roles[0]"),
            (RegisterBroker(name="b", cluster_name="c", ttl_ms=1 << 63), "ttl_ms"),
        ),
        wrong=(
            (RegisterBroker(name=STRANGE, cluster_name="c"), "name"),
            (RegisterBroker(name="b", cluster_name="c", labels={"": "v"}), "labels"),
            (RegisterBroker(name="b", cluster_name="c", addresses={"a": ""}), "addresses[a]"),
        ),
    ),
    "RegisterBatch": Row(
        empty=None,
        large=((RegisterBrokers(brokers=[BROKER] * MANY), "brokers"),),
        wrong=((RegisterBrokers(brokers=[RegisterBroker(name=TEXT)]), InPlace("brokers[0].name")),),
    ),
    "Unregister": Row(
        empty="name",
        large=((UnregisterBroker(name=TEXT, epoch=1), "name"),),
        wrong=((UnregisterBroker(name="b"), "epoch"),),
    ),
    "UnregisterBatch": Row(
        empty=None,
        large=((UnregisterBrokers(brokers=[UnregisterBroker(**LIFE)] * MANY), "brokers"),),
        wrong=((UnregisterBrokers(brokers=[UnregisterBroker()]), InPlace("brokers[0].name")),),
    ),
    "Heartbeat": Row(
        empty="name",
        large=((SendHeartbeat(name=TEXT, epoch=1), "name"),),
        wrong=((SendHeartbeat(name="b"), "epoch"),),
    ),
    "HeartbeatBatch": Row(
        empty=None,
        large=((SendHeartbeats(heartbeats=[SendHeartbeat(**LIFE)] * MANY), "heartbeats"),),
        wrong=((SendHeartbeats(heartbeats=[SendHeartbeat()]), InPlace("heartbeats[0].name")),),
    ),
    "Get": Row(empty="name", large=((GetBrokerRequest(name=TEXT), "name"),)),
    "List": Row(
        empty=None,
        large=(
            (ListBrokersRequest(cluster_name=TEXT), "cluster_name"),
            (ListBrokersRequest(page_token=TEXT), "page_token"),
        ),
        wrong=((ListBrokersRequest(role=STRANGE), "role"),),
    ),
}

PUT: Final = PutPair.DESCRIPTOR.full_name
COMMANDS: Final = {
    "Execute": Row(
        empty=None,
        large=((ExecuteRequest(commands=[Command()] * MANY), "commands"),),
    ),
    "ExecuteSplit": Row(
        empty=grpc.StatusCode.OK,
        large=((ExecuteRequest(commands=[Command()] * MANY), "commands"),),
    ),
    "Stream": Row(
        empty=grpc.StatusCode.OK,
        large=((StreamRequest(commands=[Command()] * MANY), "commands"),),
    ),
    "OpenSession": Row(
        empty="group",
        large=(
            (OpenSessionRequest(group="metadata", shard_key=KEY, ttl_ms=1_000), "shard_key"),
            (OpenSessionRequest(group="metadata", name=TEXT), "name"),
            (OpenSessionRequest(group="metadata", ttl_ms=(1 << 64) - 1), "ttl_ms"),
        ),
        wrong=(
            (OpenSessionRequest(group="nothing", ttl_ms=1_000), "group"),
            (OpenSessionRequest(group="metadata"), "ttl_ms"),
        ),
    ),
    "SealSession": Row(
        empty="group",
        large=(
            (SealSessionRequest(group="metadata", shard_key=KEY, name="s"), "shard_key"),
            (SealSessionRequest(group="metadata", name=TEXT), "name"),
        ),
        wrong=(
            (SealSessionRequest(group="nothing", name="s"), "group"),
            (SealSessionRequest(group="metadata"), "name"),
        ),
    ),
    "CloseSession": Row(
        empty="group",
        large=((CloseSessionRequest(group="metadata", shard_key=KEY, session=1), "shard_key"),),
        wrong=(
            (CloseSessionRequest(group="nothing", session=1), "group"),
            (CloseSessionRequest(group="metadata"), "session"),
        ),
    ),
}

KV: Final = {
    "Put": Row(
        empty="key",
        large=(
            (put(KEY), "key"),
            (put(value=VALUE), "value"),
            (put(value=COMMAND), "command"),
            (put(ttl_ms=1 << 63), "ttl_ms"),
        ),
    ),
    "PutBatch": Row(
        empty=None,
        large=(
            (PutPairs(pairs=[put()] * MANY), "pairs"),
            (PutPairs(pairs=[put(KEY), put(KEY)]), InPlace("pairs[0].key")),
            (PutPairs(pairs=[put(value=VALUE)]), "pairs[0].value"),
        ),
    ),
    "Delete": Row(empty="key", large=((DeletePair(key=KEY), "key"),)),
    "DeleteBatch": Row(
        empty=None,
        large=((DeletePairs(pairs=[DeletePair(key=b"k")] * MANY), "pairs"),),
        wrong=((DeletePairs(pairs=[DeletePair()]), "pairs[0].key"),),
    ),
    "Touch": Row(empty="key", large=((TouchPair(key=KEY), "key"),)),
    "TouchBatch": Row(
        empty=None,
        large=((TouchPairs(pairs=[TouchPair(key=b"k")] * MANY), "pairs"),),
        wrong=((TouchPairs(pairs=[TouchPair()]), "pairs[0].key"),),
    ),
    "Commit": Row(
        empty="operations",
        large=(
            (commit(*(b"k/%d" % n for n in range(129))), "operations"),
            (commit(KEY), "operations[0].put.key"),
        ),
        wrong=(
            (CommitPairs(operations=[PairOperation()]), "operations[0]"),
            (commit(b"k", b"k"), "operations[1].put.key"),
            (commit(b"k", b"l"), "operations[1].put.key"),
            (
                CommitPairs(
                    operations=[PairOperation(put=put())], comparisons=[PairComparison(key=b"l")]
                ),
                "comparisons[0].key",
            ),
        ),
    ),
    "CommitBatch": Row(
        empty=None,
        large=((CommitPairsBatch(transactions=[commit(b"k")] * MANY), "transactions"),),
        wrong=(
            (
                CommitPairsBatch(transactions=[CommitPairs()] * 2),
                InPlace("transactions[0].operations"),
            ),
        ),
    ),
    "Get": Row(empty="key", large=((GetPairRequest(key=KEY), "key"),)),
    "GetBatch": Row(
        empty=None,
        large=(
            (GetPairsRequest(keys=[b"k"] * 1_001), "keys"),
            (GetPairsRequest(keys=[b"k", KEY]), "keys[1]"),
        ),
        wrong=((GetPairsRequest(keys=[b"k", b""]), "keys[1]"),),
    ),
    "Exists": Row(empty="key", large=((GetPairRequest(key=KEY), "key"),)),
    "ExistsBatch": Row(
        empty=None,
        large=((GetPairsRequest(keys=[b"k"] * 1_001), "keys"),),
        wrong=((GetPairsRequest(keys=[b""]), "keys[0]"),),
    ),
    **{
        method: Row(
            empty=None,
            large=(
                (ListPairsRequest(prefix=KEY), "prefix"),
                (ListPairsRequest(start=KEY), "start"),
                (ListPairsRequest(end=KEY), "end"),
                (ListPairsRequest(page_token=KEY), "page_token"),
            ),
            wrong=((ListPairsRequest(start=b"b", end=b"a"), "end"),),
        )
        for method in ("List", "StreamList")
    },
}

#: Asked by what shows that it is another node; a stranger is refused before.
NODE: Final = {
    "Forward": Row(
        empty="parts",
        # Answered in its place: one part never hides the others.
        large=((ForwardRequest(parts=[ForwardedPart(shard=TEXT)]), None),),
    ),
    "Query": Row(
        empty="shard",
        large=((ShardQueryRequest(shard=TEXT), "shard"),),
        wrong=(
            (ShardQueryRequest(shard="metadata/0"), "type"),
            (
                ShardQueryRequest(
                    shard="metadata/0",
                    type="quorate.v1.GetPair",
                    row="quorate.v1.GetPairResponse",
                    payload=b"\xff",
                ),
                "query",
            ),
        ),
    ),
    "Mark": Row(empty="shard", large=((MarkRequest(shard=TEXT), "shard"),)),
    "Feed": Row(
        empty="start",
        large=((start(shard=TEXT), "start.shard"),),
        wrong=(
            (start(), "start.shard"),
            # There is nothing to give of what the node does not have.
            (start(shard="metadata/0", families=[WatchedFamily(name="nothing")]), None),
            (
                start(
                    shard="metadata/0",
                    families=[WatchedFamily(name="kv.pairs")],
                    behind=FeedPosition(generation=1 << 63, revision=(1 << 64) - 1),
                ),
                None,
            ),
        ),
    ),
    "Membership": Row(empty="shard", large=((MembershipRequest(shard=TEXT), "shard"),)),
    "ChangeMember": Row(
        empty="shard",
        large=((ChangeMemberRequest(shard=TEXT), "shard"),),
        wrong=((ChangeMemberRequest(shard="metadata/0"), "node"),),
    ),
    "Clock": Row(empty=None),
}

LARGE_RESOURCE: Final = b"v" * ((64 << 10) + 1)
RESOURCE: Final = {
    "Put": Row(
        empty="path",
        large=(
            (PutResource(path=TEXT), "path"),
            (PutResource(path="p", value=LARGE_RESOURCE), "value"),
        ),
        wrong=((PutResource(path="a//b"), "path"),),
    ),
    "PutBatch": Row(
        empty=None,
        large=((PutResources(puts=[PutResource(path="p")] * MANY), "puts"),),
        wrong=((PutResources(puts=[PutResource()]), InPlace("puts[0].path")),),
    ),
    "Get": Row(empty="path", large=((GetResource(path=TEXT), "path"),)),
    "GetBatch": Row(
        empty=None,
        large=((GetResources(paths=["p"] * 101), "paths"),),
        wrong=((GetResources(paths=["p", STRANGE]), "paths[1]"),),
    ),
    "Delete": Row(
        empty="path",
        large=((DeleteResource(path=TEXT), "path"),),
        wrong=((DeleteResource(path="p", expected_revision=0), "expected_revision"),),
    ),
    "DeleteBatch": Row(
        empty=None,
        large=((DeleteResources(deletions=[DeleteResource(path="p")] * MANY), "deletions"),),
        wrong=((DeleteResources(deletions=[DeleteResource()]), InPlace("deletions[0].path")),),
    ),
    "List": Row(
        empty=None,
        large=(
            (ListResources(prefix=TEXT), "prefix"),
            (ListResources(page_token=KEY), "page_token"),
            (ListResources(page_size=1_001), "page_size"),
        ),
    ),
}

BINDING: Final[dict[str, Any]] = {"tenant": "t", "name": "s"}
SCHEMA: Final = {
    "Create": Row(
        empty="tenant",
        large=(
            (schema(TEXT), "name"),
            (schema(definition=LARGE_RESOURCE), "definition"),
        ),
        wrong=((schema(kind=77), "kind"), (schema(definition=b""), "definition")),
    ),
    "CreateBatch": Row(
        empty=None,
        large=((CreateSchemas(schemas=[schema()] * MANY), "schemas"),),
        wrong=((CreateSchemas(schemas=[CreateSchema()]), InPlace("schemas[0].tenant")),),
    ),
    "Put": Row(
        empty="tenant",
        large=(
            (put_schema(TEXT), "name"),
            (put_schema(definition=LARGE_RESOURCE), "definition"),
        ),
        wrong=((put_schema(kind=77), "kind"), (put_schema(definition=b""), "definition")),
    ),
    "PutBatch": Row(
        empty=None,
        large=((PutSchemas(schemas=[put_schema()] * MANY), "schemas"),),
        wrong=((PutSchemas(schemas=[PutSchema()]), InPlace("schemas[0].tenant")),),
    ),
    "Update": Row(
        empty="tenant",
        large=((UpdateSchema(tenant="t", name=TEXT), "name"),),
        wrong=((UpdateSchema(tenant="t", name="s"), "definition"),),
    ),
    "UpdateBatch": Row(
        empty=None,
        large=(
            (UpdateSchemas(schemas=[UpdateSchema(**BINDING, definition=b"{}")] * MANY), "schemas"),
        ),
        wrong=((UpdateSchemas(schemas=[UpdateSchema()]), InPlace("schemas[0].tenant")),),
    ),
    "Delete": Row(
        empty="tenant",
        large=((DeleteSchema(tenant=TEXT), "tenant"),),
        wrong=((DeleteSchema(tenant="t", name=STRANGE), "name"),),
    ),
    "DeleteBatch": Row(
        empty=None,
        large=((DeleteSchemas(schemas=[DeleteSchema(**BINDING)] * MANY), "schemas"),),
        wrong=((DeleteSchemas(schemas=[DeleteSchema()]), InPlace("schemas[0].tenant")),),
    ),
    "Bind": Row(
        empty="tenant",
        large=((BindSchema(**BINDING, resource=TEXT), "resource"),),
        wrong=((BindSchema(**BINDING, resource="\n"), "resource"),),
    ),
    "BindBatch": Row(
        empty=None,
        large=((BindSchemas(bindings=[BindSchema(**BINDING, resource="r")] * MANY), "bindings"),),
        wrong=((BindSchemas(bindings=[BindSchema()]), InPlace("bindings[0].tenant")),),
    ),
    "Unbind": Row(
        empty="tenant",
        large=((UnbindSchema(**BINDING, resource=TEXT), "resource"),),
        wrong=((UnbindSchema(**BINDING), "resource"),),
    ),
    "UnbindBatch": Row(
        empty=None,
        large=(
            (UnbindSchemas(bindings=[UnbindSchema(**BINDING, resource="r")] * MANY), "bindings"),
        ),
        wrong=((UnbindSchemas(bindings=[UnbindSchema()]), InPlace("bindings[0].tenant")),),
    ),
    "Get": Row(empty="tenant", large=((GetSchema(tenant="t", name=TEXT), "name"),)),
    "List": Row(
        empty=None,
        large=(
            (ListSchemas(tenant="t", prefix=TEXT), "prefix"),
            (ListSchemas(tenant="t", limit=1_001), "limit"),
        ),
    ),
    "ListBindings": Row(
        empty=None,
        large=(
            (ListSchemaBindings(tenant="t", resource=TEXT), "resource"),
            (ListSchemaBindings(tenant="t", after=SchemaBinding(name=TEXT)), "after.name"),
        ),
    ),
}

TENANT: Final = {
    "Create": Row(
        empty="name",
        large=(
            (CreateTenant(name=TEXT), "name"),
            (CreateTenant(name="t", description=TEXT), "description"),
            (CreateTenant(name="t", limits={f"l{n}": n for n in range(65)}), "limits"),
        ),
        wrong=((CreateTenant(name=STRANGE), "name"),),
    ),
    "CreateBatch": Row(
        empty=None,
        large=((CreateTenants(tenants=[CreateTenant(name="t")] * MANY), "tenants"),),
    ),
    "Put": Row(
        empty="name",
        large=(
            (PutTenant(name=TEXT), "name"),
            (PutTenant(name="t", description=TEXT), "description"),
            (PutTenant(name="t", limits={f"l{n}": n for n in range(65)}), "limits"),
        ),
        wrong=((PutTenant(name=STRANGE), "name"),),
    ),
    "PutBatch": Row(
        empty=None,
        large=((PutTenants(tenants=[PutTenant(name="t")] * MANY), "tenants"),),
    ),
    "Update": Row(
        empty="name",
        large=((UpdateTenant(name=TEXT), "name"),),
        wrong=(
            (UpdateTenant(name=STRANGE), "name"),
            (UpdateTenant(name="t", update_mask=FieldMask(paths=["id"])), "update_mask"),
        ),
    ),
    "UpdateBatch": Row(
        empty=None,
        large=((UpdateTenants(tenants=[UpdateTenant(name="t")] * MANY), "tenants"),),
        wrong=((UpdateTenants(tenants=[UpdateTenant()]), InPlace("tenants[0].name")),),
    ),
    "Delete": Row(
        empty="name",
        large=((DeleteTenantRequest(name=TEXT), "name"),),
        wrong=((DeleteTenantRequest(name=STRANGE), "name"),),
    ),
    "DeleteBatch": Row(
        empty=None,
        large=((DeleteTenantsRequest(deletions=[DeleteTenantRequest()] * 101), "deletions"),),
        wrong=((DeleteTenantsRequest(deletions=[DeleteTenantRequest()]), "deletions[0].name"),),
    ),
    "Get": Row(empty="name", large=((GetTenantRequest(name=TEXT), "name"),)),
    "List": Row(
        empty=None,
        large=((ListTenants(prefix=TEXT), "prefix"), (ListTenants(page_size=1_001), "page_size")),
    ),
}

PAIRS: Final = WatchedFamily(name="kv.pairs")
WATCH: Final = {
    "Watch": Row(
        empty="families",
        large=(
            (WatchRequest(families=[WatchedFamily(name=TEXT)]), "families[0].name"),
            # No key begins with it, and so nothing comes.
            (WatchRequest(families=[WatchedFamily(name="kv.pairs", prefix=KEY)]), None),
            (WatchRequest(families=[PAIRS], token=VALUE), "token"),
        ),
        wrong=(
            (WatchRequest(families=[PAIRS, PAIRS]), "families[1].name"),
            (WatchRequest(families=[PAIRS], token=b"\x01"), "token"),
        ),
    ),
}

HEALTH: Final = {
    "Check": Row(empty=None, large=((HealthCheckRequest(service=TEXT), NOT_FOUND),)),
    # Told as SERVICE_UNKNOWN, until there is such a service.
    "Watch": Row(empty=None, large=((HealthCheckRequest(service=TEXT), None),)),
    "List": Row(empty=UNIMPLEMENTED),
}
REFLECTION: Final = {
    # Told in the response.
    "ServerReflectionInfo": Row(
        empty=None, large=((ServerReflectionRequest(file_by_filename=TEXT), None),)
    ),
}

_REQUEST: Final = GetMessageClass(STABLE.message_types_by_name["ServerReflectionRequest"])
STABLE_REFLECTION: Final = {
    "ServerReflectionInfo": Row(empty=None, large=((_REQUEST(file_by_filename=TEXT), None),))
}

#: This node records nothing.
AUDIT: Final = {
    "Follow": Row(empty=REFUSED, large=((FollowAudit(domains=[TEXT]), REFUSED),)),
    "Writer": Row(
        empty="family",
        large=((FindWriter(family=TEXT, key=b"a"), "family"),),
        wrong=((FindWriter(family="nothing", key=b"a"), "family"),),
    ),
}

FILES: Final = {
    "Open": Row(
        empty="name",
        large=((OpenFilesRequest(group="metadata", name=TEXT), "name"),),
        wrong=(
            (OpenFilesRequest(name="a", group="nothing"), "group"),
            (OpenFilesRequest(name="a", group="metadata", command="nothing"), "command"),
        ),
    ),
    "Send": Row(
        empty="name",
        large=((SendFileRequest(group="metadata", name=TEXT), "name"),),
        wrong=((SendFileRequest(group="metadata", name="a"), "file"),),
    ),
    "Ingest": Row(
        empty="ingest.name",
        large=((IngestFilesRequest(ingest=IngestFileSet(name=TEXT)), "ingest.name"),),
        wrong=((IngestFilesRequest(group="nothing", ingest=IngestFileSet(name="a")), "group"),),
    ),
    "Publish": Row(
        empty="name",
        large=((PublishFilesRequest(group="metadata", name=TEXT), "name"),),
        wrong=(
            (PublishFilesRequest(name="a", group="nothing"), "group"),
            (PublishFilesRequest(name="a", group="metadata", command="nothing"), "command"),
        ),
    ),
    "Drop": Row(
        empty="drop.name",
        large=((DropFilesRequest(drop=DropFileSet(name=TEXT)), "drop.name"),),
        wrong=((DropFilesRequest(group="nothing", drop=DropFileSet(name="a")), "group"),),
    ),
}
#: Asked by what shows that it is another node.
FILE_PEERS: Final = {
    "Fetch": Row(empty="shard", large=((FetchFilesRequest(shard=TEXT), "shard"),)),
    "Read": Row(empty="shard", large=((ReadFileRequest(shard=TEXT), "shard"),)),
    "Applied": Row(empty="shard", large=((AppliedRequest(shard=TEXT), "shard"),)),
}

VIEW: Final = {
    "Open": Row(
        empty="family",
        large=(
            (OpenViewRequest(family=TEXT), "family"),
            (OpenViewRequest(family="kv.pairs", ttl_ms=3_600_001), "ttl_ms"),
        ),
        wrong=((OpenViewRequest(family="nothing"), "family"),),
    ),
    # Views come to an end by themselves as well, which is no fault of whoever reads.
    "Read": Row(empty=REFUSED, large=((ReadViewRequest(view=TEXT), REFUSED),)),
    "Close": Row(empty=None, large=((CloseViewRequest(view=TEXT), None),)),
}

A: Final = Quota(kind="tenant", name="a")
QUOTA: Final = {
    "CreateBatch": Row(
        empty=None,
        large=((CreateQuotas(quotas=[A] * MANY), "quotas"),),
        wrong=(
            (CreateQuotas(quotas=[Quota(kind="user", name="a")]), InPlace("quotas[0].kind")),
            (CreateQuotas(quotas=[Quota(kind="tenant", name=STRANGE)]), InPlace("quotas[0].name")),
        ),
    ),
    "UpdateBatch": Row(
        empty=None,
        large=((UpdateQuotas(quotas=[A] * MANY), "quotas"),),
        wrong=((UpdateQuotas(quotas=[Quota(kind="tenant")]), InPlace("quotas[0].name")),),
    ),
    "PutBatch": Row(
        empty=None,
        large=(
            (PutQuotas(quotas=[A] * MANY), "quotas"),
            (PutQuotas(quotas=[Quota(kind="address", name=TEXT)]), InPlace("quotas[0].name")),
        ),
        wrong=(
            (
                PutQuotas(quotas=[Quota(kind="identity", name="a", rows=1)]),
                InPlace("quotas[0].rows"),
            ),
            (
                PutQuotas(quotas=[Quota(kind="identity", name="a", rows=1)]),
                InPlace("quotas[0].rows"),
            ),
        ),
    ),
    "DeleteBatch": Row(
        empty=None,
        large=((DeleteQuotas(quotas=[QuotaName(kind="tenant", name="a")] * MANY), "quotas"),),
        wrong=((DeleteQuotas(quotas=[QuotaName(name="a")]), InPlace("quotas[0].kind")),),
    ),
    "Get": Row(
        empty=None,
        large=((GetQuotas(quotas=[QuotaName(kind="tenant", name="a")] * MANY), "quotas"),),
        wrong=((GetQuotas(quotas=[QuotaName()]), "quotas[0].kind"),),
    ),
    "List": Row(empty=None, large=((ListQuotas(page_size=1_001), "page_size"),)),
    "ListUsages": Row(empty=None, large=((ListTenantUsages(page_size=1_001), "page_size"),)),
}

ROWS: Final = by_method(
    {
        **auth.SERVICES,
        "grpc.health.v1.Health": HEALTH,
        "grpc.reflection.v1.ServerReflection": STABLE_REFLECTION,
        "grpc.reflection.v1alpha.ServerReflection": REFLECTION,
        "quorate.v1.AdminService": ADMIN,
        "quorate.v1.AuditService": AUDIT,
        "quorate.v1.ClusterService": CLUSTER,
        "quorate.v1.CommandService": COMMANDS,
        "quorate.v1.CoordinatorService": COORDINATORS,
        "quorate.v1.FilePeerService": FILE_PEERS,
        "quorate.v1.FileService": FILES,
        "quorate.v1.KvService": KV,
        "quorate.v1.NodeService": NODE,
        "quorate.v1.QuotaService": QUOTA,
        "quorate.v1.ResourceService": RESOURCE,
        "quorate.v1.SchemaService": SCHEMA,
        "quorate.v1.TenantService": TENANT,
        "quorate.v1.ViewService": VIEW,
        "quorate.v1.WatchService": WATCH,
    }
)
