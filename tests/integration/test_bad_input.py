"""Every method that a node serves refuses bad input by its field, and logs nothing of it.

A method that is new needs its row in `ROWS`, or in `PEERS` when it takes bytes as they are.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import grpc
import pytest
import pytest_asyncio
from google.protobuf import message_factory
from google.protobuf.descriptor import FieldDescriptor, MethodDescriptor
from google.protobuf.message import Message
from google.rpc import error_details_pb2
from grpc_health.v1.health_pb2 import HealthCheckRequest
from grpc_reflection.v1alpha.reflection_pb2 import (
    ServerReflectionRequest,
    ServerReflectionResponse,
)
from quorate.consensus.peer.wire import decode_answer
from quorate.rpc.status import INVALID, detail
from quorate.v1.admin_pb2 import (
    AddMemberRequest,
    PauseControllerRequest,
    RemoveMemberRequest,
    ResumeControllerRequest,
    TransferLeaderRequest,
)
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
    ExecuteResponse,
    OpenSessionRequest,
    StreamRequest,
    StreamResponse,
)
from quorate.v1.entry_pb2 import LoggedCommand, Stamp
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
    ForwardedCommand,
    ForwardRequest,
    ForwardResponse,
    MarkRequest,
    MembershipRequest,
    ShardQueryRequest,
)
from quorate.v1.peer_pb2 import PeerEnvelope, PeerFrame, PeerHandshake, PeerIntroduction
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
    SchemaBinding,
    UnbindSchema,
    UnbindSchemas,
    UpdateSchema,
    UpdateSchemas,
)
from quorate.v1.snapshot_pb2 import SnapshotAnswer, SnapshotFrame, SnapshotHeader
from quorate.v1.tenant_pb2 import (
    CreateTenant,
    CreateTenants,
    DeleteTenantRequest,
    DeleteTenantsRequest,
    GetTenantRequest,
    ListTenants,
    UpdateTenant,
    UpdateTenants,
)
from quorate.v1.watch_pb2 import WatchedFamily, WatchRequest

if TYPE_CHECKING:
    from tests.integration.conftest import Answer, Served

pytestmark = pytest.mark.asyncio(loop_scope="module")

#: The field that is blamed; None: the request is a good one; else the status of what is no fault
#: of a field.
Blame = str | grpc.StatusCode | None

KEY: Final = b"k" * 4_097
VALUE: Final = b"v" * ((128 << 10) + 1)
COMMAND: Final = b"c" * ((256 << 10) + 1)
TEXT: Final = "t" * 4_097
MANY: Final = 201
#: A text that no name may hold.
STRANGE: Final = "a\nb"
NOT_FOUND: Final = grpc.StatusCode.NOT_FOUND
REFUSED: Final = grpc.StatusCode.FAILED_PRECONDITION
UNIMPLEMENTED: Final = grpc.StatusCode.UNIMPLEMENTED


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What a method makes of bad input."""

    empty: Blame
    #: Requests with too much of something.
    large: tuple[tuple[Message, Blame], ...] = ()
    #: Requests with what cannot be meant.
    wrong: tuple[tuple[Message, Blame], ...] = ()


def command(**fields: object) -> ExecuteRequest:
    return ExecuteRequest(commands=[Command(**fields)])  # type: ignore[arg-type]  # by name


def start(**fields: object) -> FeedRequest:
    return FeedRequest(start=FeedStart(**fields))  # type: ignore[arg-type]  # by name


def put(key: bytes = b"k", **fields: object) -> PutPair:
    return PutPair(key=key, **fields)  # type: ignore[arg-type]  # by name


def commit(*keys: bytes) -> CommitPairs:
    return CommitPairs(operations=[PairOperation(put=put(key)) for key in keys])


def schema(name: str = "s", **fields: object) -> CreateSchema:
    given = {"tenant": "t", "kind": SCHEMA_KIND_JSON, "definition": b"{}", **fields}
    return CreateSchema(name=name, **given)  # type: ignore[arg-type]  # by name


ADMIN: Final = {
    "Topology": Row(empty=None),
    "Status": Row(empty=None),
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
    "RemoveMember": Row(
        empty="node",
        large=((RemoveMemberRequest(node=TEXT), "node"),),
        wrong=(
            (RemoveMemberRequest(node=STRANGE), "node"),
            (RemoveMemberRequest(node="n3"), NOT_FOUND),
        ),
    ),
    "PauseController": Row(empty="name", large=((PauseControllerRequest(name=TEXT), "name"),)),
    "ResumeController": Row(empty="name", large=((ResumeControllerRequest(name=TEXT), "name"),)),
    "Backup": Row(empty=None),
}

BROKER: Final = RegisterBroker(name="b", cluster_name="c")
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
        # Nothing is registered, and nothing is logged.
        empty=None,
        large=(
            (RegisterBrokers(brokers=[BROKER] * MANY), "brokers"),
            (RegisterBrokers(brokers=[BROKER, RegisterBroker(name=TEXT)]), "brokers[1].name"),
        ),
        wrong=((RegisterBrokers(brokers=[BROKER, BROKER]), "brokers[1]"),),
    ),
    "Unregister": Row(
        empty="name",
        large=((UnregisterBroker(name=TEXT, epoch=1), "name"),),
        wrong=((UnregisterBroker(name="b"), "epoch"),),
    ),
    "UnregisterBatch": Row(
        empty=None,
        large=((UnregisterBrokers(brokers=[UnregisterBroker()] * MANY), "brokers"),),
        wrong=((UnregisterBrokers(brokers=[UnregisterBroker()]), "brokers[0].name"),),
    ),
    "Heartbeat": Row(
        empty="name",
        large=((SendHeartbeat(name=TEXT, epoch=1), "name"),),
        wrong=((SendHeartbeat(name="b"), "epoch"),),
    ),
    "HeartbeatBatch": Row(
        empty=None,
        large=((SendHeartbeats(heartbeats=[SendHeartbeat()] * MANY), "heartbeats"),),
        wrong=((SendHeartbeats(heartbeats=[SendHeartbeat()]), "heartbeats[0].name"),),
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
        empty="commands",
        large=((ExecuteRequest(commands=[Command()] * MANY), "commands"),),
    ),
    "Stream": Row(
        empty="commands",
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
        empty="pairs",
        large=(
            (PutPairs(pairs=[put()] * MANY), "pairs"),
            (PutPairs(pairs=[put(), put(KEY)]), "pairs[1].key"),
            (PutPairs(pairs=[put(value=VALUE)]), "pairs[0].value"),
        ),
        wrong=((PutPairs(pairs=[put(), put()]), "pairs[1]"),),
    ),
    "Delete": Row(empty="key", large=((DeletePair(key=KEY), "key"),)),
    "DeleteBatch": Row(
        empty="pairs",
        large=((DeletePairs(pairs=[DeletePair(key=b"k")] * MANY), "pairs"),),
        wrong=((DeletePairs(pairs=[DeletePair()]), "pairs[0].key"),),
    ),
    "Touch": Row(empty="key", large=((TouchPair(key=KEY), "key"),)),
    "TouchBatch": Row(
        empty="pairs",
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
        empty="transactions",
        large=((CommitPairsBatch(transactions=[commit(b"k")] * MANY), "transactions"),),
        wrong=(
            (
                CommitPairsBatch(transactions=[commit(b"k"), CommitPairs()]),
                "transactions[1].operations",
            ),
        ),
    ),
    "Get": Row(empty="key", large=((GetPairRequest(key=KEY), "key"),)),
    "GetBatch": Row(
        empty="keys",
        large=(
            (GetPairsRequest(keys=[b"k"] * 1_001), "keys"),
            (GetPairsRequest(keys=[b"k", KEY]), "keys[1]"),
        ),
        wrong=((GetPairsRequest(keys=[b"k", b""]), "keys[1]"),),
    ),
    "Exists": Row(empty="key", large=((GetPairRequest(key=KEY), "key"),)),
    "ExistsBatch": Row(
        empty="keys",
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
    "Forward": Row(empty="shard", large=((ForwardRequest(shard=TEXT), "shard"),)),
    "Query": Row(
        empty="shard",
        large=((ShardQueryRequest(shard=TEXT), "shard"),),
        wrong=(
            (ShardQueryRequest(shard="metadata/0"), "type"),
            (
                ShardQueryRequest(
                    shard="metadata/0",
                    type="quorate.v1.GetPair",
                    row="quorate.v1.KeyedPair",
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
        empty="puts",
        large=((PutResources(puts=[PutResource(path="p")] * MANY), "puts"),),
        wrong=((PutResources(puts=[PutResource(path="p"), PutResource()]), "puts[1].path"),),
    ),
    "Get": Row(empty="path", large=((GetResource(path=TEXT), "path"),)),
    "GetBatch": Row(
        empty="paths",
        large=((GetResources(paths=["p"] * 101), "paths"),),
        wrong=((GetResources(paths=["p", STRANGE]), "paths[1]"),),
    ),
    "Delete": Row(
        empty="path",
        large=((DeleteResource(path=TEXT), "path"),),
        wrong=((DeleteResource(path="p", expected_revision=0), "expected_revision"),),
    ),
    "DeleteBatch": Row(
        empty="deletions",
        large=((DeleteResources(deletions=[DeleteResource(path="p")] * MANY), "deletions"),),
        wrong=((DeleteResources(deletions=[DeleteResource()]), "deletions[0].path"),),
    ),
    "List": Row(
        empty=None,
        large=(
            (ListResources(prefix=TEXT), "prefix"),
            (ListResources(after=TEXT), "after"),
            (ListResources(limit=1_001), "limit"),
        ),
    ),
}

BINDING: Final = {"tenant": "t", "name": "s"}
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
        empty="schemas",
        large=((CreateSchemas(schemas=[schema()] * MANY), "schemas"),),
        wrong=((CreateSchemas(schemas=[CreateSchema()]), "schemas[0].tenant"),),
    ),
    "Update": Row(
        empty="tenant",
        large=((UpdateSchema(tenant="t", name=TEXT), "name"),),
        wrong=((UpdateSchema(tenant="t", name="s"), "definition"),),
    ),
    "UpdateBatch": Row(
        empty="schemas",
        large=((UpdateSchemas(schemas=[UpdateSchema()] * MANY), "schemas"),),
        wrong=((UpdateSchemas(schemas=[UpdateSchema()]), "schemas[0].tenant"),),
    ),
    "Delete": Row(
        empty="tenant",
        large=((DeleteSchema(tenant=TEXT), "tenant"),),
        wrong=((DeleteSchema(tenant="t", name=STRANGE), "name"),),
    ),
    "DeleteBatch": Row(
        empty="schemas",
        large=((DeleteSchemas(schemas=[DeleteSchema()] * MANY), "schemas"),),
        wrong=((DeleteSchemas(schemas=[DeleteSchema()]), "schemas[0].tenant"),),
    ),
    "Bind": Row(
        empty="tenant",
        large=((BindSchema(**BINDING, resource=TEXT), "resource"),),
        wrong=((BindSchema(**BINDING, resource="/"), "resource"),),
    ),
    "BindBatch": Row(
        empty="bindings",
        large=((BindSchemas(bindings=[BindSchema()] * MANY), "bindings"),),
        wrong=((BindSchemas(bindings=[BindSchema()]), "bindings[0].tenant"),),
    ),
    "Unbind": Row(
        empty="tenant",
        large=((UnbindSchema(**BINDING, resource=TEXT), "resource"),),
        wrong=((UnbindSchema(**BINDING), "resource"),),
    ),
    "UnbindBatch": Row(
        empty="bindings",
        large=((UnbindSchemas(bindings=[UnbindSchema()] * MANY), "bindings"),),
        wrong=((UnbindSchemas(bindings=[UnbindSchema()]), "bindings[0].tenant"),),
    ),
    "Get": Row(empty="tenant", large=((GetSchema(tenant="t", name=TEXT), "name"),)),
    "List": Row(
        empty="tenant",
        large=(
            (ListSchemas(tenant="t", prefix=TEXT), "prefix"),
            (ListSchemas(tenant="t", limit=1_001), "limit"),
        ),
    ),
    "ListBindings": Row(
        empty="tenant",
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
        empty="tenants",
        large=((CreateTenants(tenants=[CreateTenant(name="t")] * MANY), "tenants"),),
        wrong=((CreateTenants(tenants=[CreateTenant(name="t")] * 2), "tenants[1]"),),
    ),
    "Update": Row(
        empty="name",
        large=((UpdateTenant(name=TEXT), "name"),),
        wrong=((UpdateTenant(name=STRANGE), "name"),),
    ),
    "UpdateBatch": Row(
        empty="tenants",
        large=((UpdateTenants(tenants=[UpdateTenant(name="t")] * MANY), "tenants"),),
        wrong=((UpdateTenants(tenants=[UpdateTenant()]), "tenants[0].name"),),
    ),
    "Delete": Row(
        empty="name",
        large=((DeleteTenantRequest(name=TEXT), "name"),),
        wrong=((DeleteTenantRequest(name=STRANGE), "name"),),
    ),
    "DeleteBatch": Row(
        empty="deletions",
        large=((DeleteTenantsRequest(deletions=[DeleteTenantRequest()] * 101), "deletions"),),
        wrong=((DeleteTenantsRequest(deletions=[DeleteTenantRequest()]), "deletions[0].name"),),
    ),
    "Get": Row(empty="name", large=((GetTenantRequest(name=TEXT), "name"),)),
    "List": Row(
        empty=None,
        large=((ListTenants(prefix=TEXT), "prefix"), (ListTenants(limit=1_001), "limit")),
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

ROWS: Final = {
    f"/{service}/{method}": row
    for service, rows in {
        "grpc.health.v1.Health": HEALTH,
        "grpc.reflection.v1alpha.ServerReflection": REFLECTION,
        "quorate.v1.AdminService": ADMIN,
        "quorate.v1.ClusterService": CLUSTER,
        "quorate.v1.CommandService": COMMANDS,
        "quorate.v1.KvService": KV,
        "quorate.v1.NodeService": NODE,
        "quorate.v1.ResourceService": RESOURCE,
        "quorate.v1.SchemaService": SCHEMA,
        "quorate.v1.TenantService": TENANT,
        "quorate.v1.WatchService": WATCH,
    }.items()
    for method, row in rows.items()
}
STREAMS: Final = ("/quorate.v1.PeerService/Control", "/quorate.v1.PeerService/Bulk")
INTRODUCE: Final = "/quorate.v1.PeerService/Introduce"
INSTALL: Final = "/quorate.v1.SnapshotService/Install"
PEERS: Final = {*STREAMS, INTRODUCE, INSTALL}
BY_NODES: Final = [method for method in ROWS if method.startswith("/quorate.v1.NodeService/")]

every_method: Final = pytest.mark.parametrize("method", list(ROWS))


@pytest_asyncio.fixture(loop_scope="module", autouse=True)
async def nothing_is_logged(served: Served) -> AsyncIterator[None]:
    """Compare the logs and the rows of every shard with those before."""
    before = served.last_entries(), served.digests()
    yield
    assert (served.last_entries(), served.digests()) == before
    assert (await served.call("/grpc.health.v1.Health/Check", b"")).messages == [b"\x08\x01"]


async def ask(served: Served, method: str, content: bytes) -> Answer:
    """Ask with a request; of an answer in many parts the first is enough.

    Of a backup all is taken: the next one is refused while one is under way.
    """
    most = None if method.endswith("/Backup") else 1
    return await served.call(method, content, admitted=method in BY_NODES, most=most)


def check(answer: Answer, blame: Blame) -> None:
    """Compare an answer with what is blamed."""
    told = f"{answer.code} {answer.details}"
    if blame is None:
        assert answer.code is grpc.StatusCode.OK, told
        assert answer.messages
    elif isinstance(blame, grpc.StatusCode):
        assert answer.code is blame, told
    else:
        assert answer.code is grpc.StatusCode.INVALID_ARGUMENT, told
        assert answer.fields == [blame], told
        assert detail(answer.status, error_details_pb2.ErrorInfo).reason == INVALID


async def test_every_method_that_is_served_has_its_row(served: Served) -> None:
    methods = await served.methods()

    assert set(ROWS) | PEERS == set(methods)
    for name, method in methods.items():
        if name in ROWS and method.input_type.fields:
            assert ROWS[name].large or ROWS[name].empty is UNIMPLEMENTED, name


@every_method
async def test_an_empty_request(served: Served, method: str) -> None:
    check(await ask(served, method, b""), ROWS[method].empty)


@every_method
async def test_too_much_of_something(served: Served, method: str) -> None:
    for request, blame in ROWS[method].large:
        assert request.DESCRIPTOR is (await served.methods())[method].input_type
        check(await ask(served, method, request.SerializeToString()), blame)


@every_method
async def test_what_cannot_be_meant(served: Served, method: str) -> None:
    for request, blame in ROWS[method].wrong:
        assert request.DESCRIPTOR is (await served.methods())[method].input_type
        check(await ask(served, method, request.SerializeToString()), blame)


@every_method
async def test_too_large_a_message(served: Served, method: str) -> None:
    # A field that nobody knows: there is nothing else to blame.
    filled = b"\xfa\xff\xff\xff\x0f\x80\x80\x20" + bytes(512 << 10)

    check(await ask(served, method, filled), "request")


@every_method
async def test_bytes_that_are_no_message(served: Served, method: str) -> None:
    for content in (b"\xff" * 7, b"\x0a\x05abc", b"\x00", b"\x0f"):
        check(await ask(served, method, content), "request")


@every_method
async def test_fields_of_another_type_count_for_nothing(served: Served, method: str) -> None:
    described: MethodDescriptor = (await served.methods())[method]
    # No field of a request is a fixed32.
    fields = [each.number << 3 | 5 for each in described.input_type.fields]
    content = b"".join(varint(tag) + b"\x01\x02\x03\x04" for tag in fields)

    check(await ask(served, method, content), ROWS[method].empty)


@every_method
async def test_texts_that_are_no_utf_8(served: Served, method: str) -> None:
    described: MethodDescriptor = (await served.methods())[method]
    for field in described.input_type.fields:
        if field.type == FieldDescriptor.TYPE_STRING:
            content = varint(field.number << 3 | 2) + b"\x02\xc3\x28"
            check(await ask(served, method, content), "request")


@pytest.mark.parametrize("method", BY_NODES)
async def test_nobody_but_nodes_calls_what_is_for_nodes(served: Served, method: str) -> None:
    check(await served.call(method, b""), "quorate-peer-bin")


# Commands, each answered in its place.


async def test_a_command_is_refused_by_its_field(served: Served) -> None:
    key = put().SerializeToString()
    for request, blame in (
        (command(), "type"),
        (command(type="quorate.v1.Nothing"), "type"),
        (command(type="quorate.v1.ExpirePairs"), "type"),
        (command(type="quorate.v1.AdoptSlots"), "type"),
        (command(type=PUT, payload=b"\xff"), "payload"),
        (command(type=PUT, payload=COMMAND), "payload"),
        (command(type=PUT, payload=key, stamp=Stamp()), "stamp"),
        (command(type=PUT, payload=key, stamp=Stamp(session=1)), "stamp"),
    ):
        assert await executed(served, request.commands[0]) == blame


@pytest.mark.parametrize("method", list(ROWS))
async def test_the_request_of_a_method_is_the_same_as_a_command(
    served: Served, method: str
) -> None:
    described: MethodDescriptor = (await served.methods())[method]
    name = described.input_type.full_name
    if name not in served.catalog.commands:
        return
    row = ROWS[method]
    empty = message_factory.GetMessageClass(described.input_type)()
    for request, blame in ((empty, row.empty), *row.large, *row.wrong):
        asked = Command(type=name, payload=request.SerializeToString())
        # What is too long as a whole is the payload here.
        assert await executed(served, asked) == ("payload" if blame == "command" else blame)


async def executed(served: Served, asked: Command) -> Blame:
    """Return what is blamed, which is the same in a call and in a stream."""
    request = ExecuteRequest(commands=[asked]).SerializeToString()
    [message] = (await served.call("/quorate.v1.CommandService/Execute", request)).messages
    [answer] = ExecuteResponse.FromString(message).answers
    [message] = (await served.call("/quorate.v1.CommandService/Stream", request)).messages
    [streamed] = StreamResponse.FromString(message).answers
    assert streamed.answer == answer
    if answer.HasField("reply"):
        return None
    violations = detail(answer.status, error_details_pb2.BadRequest).field_violations
    return violations[0].field if violations else grpc.StatusCode(answer.status.code)


async def test_a_forwarded_command_is_refused_by_its_field(served: Served) -> None:
    key = put().SerializeToString()
    for logged, blame in (
        (LoggedCommand(), "type"),
        (LoggedCommand(type="quorate.v1.Nothing"), "type"),
        (LoggedCommand(type=PUT, slotless=True), "type"),
        (LoggedCommand(type=PUT, payload=b"\xff"), "command"),
        (LoggedCommand(type=PUT), "key"),
        (LoggedCommand(type=PUT, payload=put(KEY).SerializeToString()), "key"),
        (LoggedCommand(type=PUT, payload=key), "slots"),
        (LoggedCommand(type=PUT, payload=key, slots=[(1 << 32) - 1]), "slots"),
        (LoggedCommand(type="quorate.v1.AdoptSlots", payload=b"\xff", slotless=True), "command"),
        (LoggedCommand(type="quorate.v1.ShardRow", slotless=True), "type"),
    ):
        request = ForwardRequest(
            shard="metadata/0", commands=[ForwardedCommand(command=logged, timeout_ms=10_000)]
        )
        answer = await ask(served, "/quorate.v1.NodeService/Forward", request.SerializeToString())
        [each] = ForwardResponse.FromString(answer.messages[0]).answers
        violations = detail(each.status, error_details_pb2.BadRequest).field_violations
        assert [violation.field for violation in violations] == [blame], each


async def test_reflection_says_what_is_wrong_in_its_response(served: Served) -> None:
    for request in (ServerReflectionRequest(), ServerReflectionRequest(file_by_filename=TEXT)):
        content = request.SerializeToString()
        answer = await served.call(
            "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", content
        )
        [message] = answer.messages
        assert ServerReflectionResponse.FromString(message).error_response.error_code


# What takes bytes as they are.

STRANGERS: Final = [
    b"",
    b"\xff" * 7,
    b"\x0a\x05abc",
    PeerFrame(handshake=PeerHandshake(node="n2", target_node="n1")).SerializeToString(),
    PeerFrame(envelopes=[PeerEnvelope(shard="metadata/0", term=9)]).SerializeToString(),
    bytes(512 << 10),
]


@pytest.mark.parametrize("method", STREAMS)
async def test_a_stream_is_not_read_without_a_good_handshake(served: Served, method: str) -> None:
    for content in STRANGERS:
        answer = await served.call(method, content)
        assert answer.code is grpc.StatusCode.OK
        assert all(decode_answer(message).refusal for message in answer.messages)


@pytest.mark.parametrize("method", STREAMS)
async def test_frames_of_a_node_that_cannot_be_meant_are_passed_over(
    served: Served, method: str
) -> None:
    before = served.node.network.refused.total()
    answer = await served.call(method, served.handshake(), *STRANGERS[1:])

    assert [decode_answer(message).refusal for message in answer.messages] == [""]
    # A frame without envelopes says nothing, which is no fault; nor are zeros.
    assert served.node.network.refused.total() > before


async def test_an_introduction_is_refused(served: Served) -> None:
    for content in (
        b"",
        b"\xff" * 7,
        PeerIntroduction(node=TEXT).SerializeToString(),
        PeerIntroduction(node="n2", first_entry=b"\xff").SerializeToString(),
    ):
        answer = await served.call(INTRODUCE, content)
        assert answer.code is grpc.StatusCode.INVALID_ARGUMENT
    answer = await served.call(INTRODUCE, PeerIntroduction(node="n2").SerializeToString())
    assert answer.code is grpc.StatusCode.PERMISSION_DENIED


async def test_a_snapshot_is_refused(served: Served) -> None:
    shown = PeerFrame.FromString(served.handshake()).handshake
    for content in (
        *STRANGERS,
        SnapshotFrame(
            header=SnapshotHeader(handshake=shown, shard="metadata/0")
        ).SerializeToString(),
        SnapshotFrame(header=SnapshotHeader(handshake=shown, shard="none/0")).SerializeToString(),
    ):
        answer = await served.call(INSTALL, content)
        [message] = answer.messages
        assert SnapshotAnswer.FromString(message).refusal


def varint(number: int) -> bytes:
    """Return a number as it stands in a message."""
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])
