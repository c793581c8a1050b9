from asyncio import run
from collections.abc import Callable
from typing import Any

import pytest
from quorate.plugin import Invalid, Rejected
from quorate.testing import MemoryNode
from quorate.v1.tenant_pb2 import CreateTenant, Tenant
from quorate_mqtt.sessions.families import SESSIONS
from quorate_mqtt.sessions.resource import SESSION
from quorate_mqtt.subscriptions.resource import SUBSCRIPTION
from quorate_mqtt.v1.sessions_pb2 import (
    CONNECTION_STATE_CONNECTED,
    CONNECTION_STATE_DISCONNECTED,
    ConnectReply,
    ConnectSession,
    ConnectSessions,
    CountConnectionsRequest,
    DeleteSession,
    DeleteSessions,
    DisconnectSession,
    DisconnectSessions,
    GetSessionRequest,
    GetSessionsRequest,
    ListSessionsRequest,
    SessionConnect,
    SessionName,
    UpdateSession,
    UpdateSessions,
)
from quorate_mqtt.v1.shared_groups_pb2 import (
    CreateSharedGroup,
    CreateSharedGroups,
    DeleteSharedGroup,
    GetSharedGroupRequest,
    GetSharedGroupsRequest,
    JoinSharedGroup,
    LeaveSharedGroup,
    ListSharedGroupMembersRequest,
    ListSharedGroupsRequest,
    UpdateSharedGroup,
)
from quorate_mqtt.v1.subscriptions_pb2 import (
    DeleteSubscription,
    GetSubscriptionRequest,
    GetSubscriptionsRequest,
    ListSubscriptionsRequest,
    SetSubscription,
    SetSubscriptions,
)
from quorate_mqtt.v1.wills_pb2 import (
    AcknowledgeWill,
    AcknowledgeWills,
    GetWillRequest,
    GetWillsRequest,
    ListWillDeliveriesRequest,
)

Client = Callable[..., SessionConnect]
NAMES = [f"c{number:02}" for number in range(20)]


@pytest.fixture
def node(net: Any) -> MemoryNode:
    node: MemoryNode = net.node
    return node


@pytest.fixture
def service(node: MemoryNode) -> Any:
    return node.servicer(SESSION.service.full_name)


@pytest.fixture
def connect(net: Any, service: Any) -> Callable[..., list[ConnectReply]]:
    def connect(arrivals: list[SessionConnect], broker: str = "north") -> list[ConnectReply]:
        request = ConnectSessions(
            broker=broker, broker_epoch=net.epochs[broker], connections=arrivals
        )
        reply = run(service.ConnectBatch(request, None))
        assert not reply.refusals
        return [ConnectReply.FromString(each) for each in reply.replies]

    return connect


def test_a_batch_is_answered_in_its_order_over_all_shards(
    service: Any, node: MemoryNode, connect: Any, client: Client
) -> None:
    replies = connect([client(name) for name in NAMES])

    for name, reply in zip(NAMES, replies, strict=True):
        found = run(service.Get(GetSessionRequest(tenant="acme", client_id=name), None))
        assert (found.client_id, found.generation) == (name, reply.generation)
        assert (found.tenant, found.broker) == ("acme", "north")
        assert found.revision > 0
    assert len(node.rows(SESSIONS)) == len(NAMES)


def test_many_sessions_are_read_in_the_order_of_the_request(
    service: Any, connect: Any, client: Client
) -> None:
    replies = connect([client(name) for name in NAMES])
    wanted = [*reversed(NAMES), "nobody", NAMES[0]]
    request = GetSessionsRequest(
        sessions=[SessionName(tenant="acme", client_id=name) for name in wanted]
    )

    lookups = run(service.GetBatch(request, None)).lookups

    assert [each.session.client_id for each in lookups] == [*reversed(NAMES), "", NAMES[0]]
    assert not lookups[-2].HasField("session")
    assert lookups[0].session.generation == replies[-1].generation


@pytest.mark.parametrize(
    ("names", "field"),
    [(["ada", ""], "sessions[1].client_id"), (["ada"] * 1_001, "sessions")],
)
def test_a_request_for_many_names_what_is_wrong(service: Any, names: list[str], field: str) -> None:
    request = GetSessionsRequest(
        sessions=[SessionName(tenant="acme", client_id=name) for name in names]
    )

    with pytest.raises(Invalid) as refusal:
        run(service.GetBatch(request, None))

    assert refusal.value.field == field


def test_items_that_are_wrong_are_refused_and_the_others_go_through(
    service: Any, node: MemoryNode, net: Any, client: Client
) -> None:
    arrivals = [
        client("ada"),
        client(""),
        client("ben\x00"),
        client("cleo", tenant="no such/tenant"),
        client("dan", tenant="globex"),
        client("eve", will=3),
        client("fay", payload=b"x" * 70_000),
    ]
    arrivals[5].will.topic = "a/#"

    reply = run(
        service.ConnectBatch(
            ConnectSessions(broker="north", broker_epoch=net.epochs["north"], connections=arrivals),
            None,
        )
    )

    found = {each.item: (each.code, each.message.partition(":")[0]) for each in reply.refusals}
    assert found == {
        1: ("INVALID_ARGUMENT", "connections[1].client_id"),
        2: ("INVALID_ARGUMENT", "connections[2].client_id"),
        3: ("INVALID_ARGUMENT", "connections[3].tenant"),
        4: ("NOT_FOUND", "there is no tenant globex"),
        5: ("INVALID_ARGUMENT", "connections[5].will.topic"),
        6: ("INVALID_ARGUMENT", "connections[6].payload"),
    }
    assert reply.items == 7
    assert ConnectReply.FromString(reply.replies[0]).generation
    assert len(node.rows(SESSIONS)) == 1


def test_a_batch_of_nothing_but_wrong_items_is_answered(service: Any, node: MemoryNode) -> None:
    before = len(node.proposals)

    reply = run(service.UpdateBatch(UpdateSessions(sessions=[UpdateSession()] * 2), None))

    assert [each.item for each in reply.refusals] == [0, 1]
    assert reply.items == 2
    assert len(node.proposals) == before


def test_a_client_that_is_named_again_is_refused_in_its_place(service: Any, net: Any) -> None:
    clients = [SessionConnect(tenant="acme", client_id=name) for name in ("ada", "bob", "ada")]
    request = ConnectSessions(broker="north", broker_epoch=net.epochs["north"], connections=clients)

    reply = run(service.ConnectBatch(request, None))

    assert reply.items == 3
    assert [(each.item, each.code, each.message) for each in reply.refusals] == [
        (2, "INVALID_ARGUMENT", "connections[2]: has the key of connections[0]; name each once")
    ]


@pytest.mark.parametrize(("broker", "epoch"), [("", 1), ("north", 0)])
def test_a_batch_needs_the_process_of_a_broker(
    service: Any, client: Client, broker: str, epoch: int
) -> None:
    request = ConnectSessions(broker=broker, broker_epoch=epoch, connections=[client()])

    with pytest.raises(Invalid, match="broker"):
        run(service.ConnectBatch(request, None))


def test_one_session_lives_and_ends(service: Any, net: Any, client: Client) -> None:
    request = ConnectSession(
        broker="north", broker_epoch=net.epochs["north"], connection=client(payload=b"1")
    )
    generation = run(service.Connect(request, None)).generation
    named: dict[str, Any] = {"tenant": "acme", "client_id": "ada", "generation": generation}
    wanted = GetSessionRequest(tenant="acme", client_id="ada")

    run(service.Update(UpdateSession(**named, payload=b"2"), None))
    assert run(service.Get(wanted, None)).payload == b"2"
    reply = run(service.Disconnect(DisconnectSession(**named), None))
    assert reply.expires_at_ms == 61_000
    assert run(service.Get(wanted, None)).disconnected_at_ms == 1_000
    assert run(service.Delete(DeleteSession(**named), None)).deleted

    with pytest.raises(Rejected, match="NOT_FOUND"):
        run(service.Get(wanted, None))


@pytest.mark.parametrize("size", [1, 3, 7, 1_000])
def test_pages_hold_every_session_once_and_in_order(
    service: Any, connect: Any, client: Client, size: int
) -> None:
    connect([client(name) for name in reversed(NAMES)])

    listed, token = [], b""
    while True:
        request = ListSessionsRequest(page_size=size, page_token=token)
        page = run(service.List(request, None))
        listed += [session.client_id for session in page.sessions]
        token = page.next_page_token
        if not token:
            break

    assert listed == NAMES


def test_lists_are_filtered_on_the_server(service: Any, connect: Any, client: Client) -> None:
    replies = connect([client(name) for name in NAMES[:10]])
    connect([client(name) for name in NAMES[10:]], "south")
    leaving = DisconnectSession(tenant="acme", client_id="c03", generation=replies[3].generation)
    run(service.DisconnectBatch(DisconnectSessions(sessions=[leaving]), None))

    async def listed(**wanted: Any) -> list[str]:
        pages = service.StreamList(ListSessionsRequest(page_size=2, **wanted), None)
        return [session.client_id async for page in pages for session in page.sessions]

    assert run(listed(tenant="acme")) == NAMES
    assert run(listed(tenant="globex")) == []
    assert run(listed(tenant="acme", prefix="c1")) == NAMES[10:]
    assert run(listed(broker="south")) == NAMES[10:]
    assert run(listed(state=CONNECTION_STATE_DISCONNECTED)) == ["c03"]
    connected = run(listed(state=CONNECTION_STATE_CONNECTED, broker="north"))
    assert connected == [name for name in NAMES[:10] if name != "c03"]


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        (ListSessionsRequest(prefix="c"), "prefix"),
        (ListSessionsRequest(tenant="a/b"), "tenant"),
        (ListSessionsRequest(page_size=1_001), "page_size"),
        (ListSessionsRequest(page_token=b"x" * 4_097), "page_token"),
        (ListSessionsRequest(state=9), "state"),  # type: ignore[arg-type]
        (ListSessionsRequest(broker="\n"), "broker"),
    ],
)
def test_a_list_of_what_cannot_be_is_refused(
    service: Any, request_: ListSessionsRequest, field: str
) -> None:
    with pytest.raises(Invalid) as refusal:
        run(service.List(request_, None))

    assert refusal.value.field == field


def test_connections_are_counted_over_all_shards(
    service: Any, net: Any, connect: Any, client: Client
) -> None:
    connect([client(name) for name in NAMES])
    connect([client(name) for name in NAMES[:5]], "south")
    run(service.Delete(DeleteSession(tenant="acme", client_id="c00"), None))

    counted = run(service.CountConnections(CountConnectionsRequest(), None))

    found = {each.broker_epoch: each.connections for each in counted.brokers}
    assert found == {net.epochs["north"]: 15, net.epochs["south"]: 4}


def test_many_sessions_are_deleted_in_one_call(
    service: Any, node: MemoryNode, connect: Any, client: Client
) -> None:
    connect([client(name) for name in NAMES])
    sessions = [DeleteSession(tenant="acme", client_id=name) for name in [*NAMES, ""]]

    reply = run(service.DeleteBatch(DeleteSessions(sessions=sessions), None))

    assert [each.item for each in reply.refusals] == [20]
    assert node.rows(SESSIONS) == {}


def test_subscriptions_are_set_read_listed_and_deleted(
    node: MemoryNode, connect: Any, client: Client
) -> None:
    service = node.servicer(SUBSCRIPTION.service.full_name)
    connect([client("ada"), client("a"), client("ben")])
    wanted = [
        SetSubscription(tenant="acme", client_id=client_id, filter=topic_filter, qos=1)
        for client_id in ("ada", "a", "ben")
        for topic_filter in ("x/#", "y")
    ]
    wrong = SetSubscription(tenant="acme", client_id="ada", filter="x/#/y")

    reply = run(service.SetBatch(SetSubscriptions(subscriptions=[*wanted, wrong]), None))
    assert [(each.item, each.code) for each in reply.refusals] == [(6, "INVALID_ARGUMENT")]
    run(service.Delete(DeleteSubscription(tenant="acme", client_id="a", filter="y"), None))
    ben = GetSubscriptionRequest(tenant="acme", client_id="ben", filter="y")
    one = run(service.Get(ben, None))
    missing = GetSubscriptionRequest(tenant="acme", client_id="a", filter="y")
    many = GetSubscriptionsRequest(subscriptions=[missing, ben])
    page = run(service.List(ListSubscriptionsRequest(tenant="acme", client_id="a"), None))

    async def stream() -> list[tuple[str, str]]:
        pages = service.StreamList(ListSubscriptionsRequest(page_size=2), None)
        return [(each.client_id, each.filter) async for p in pages for each in p.subscriptions]

    assert (one.client_id, one.filter, one.subscription.qos) == ("ben", "y", 1)
    lookups = run(service.GetBatch(many, None)).lookups
    assert [each.HasField("subscription") for each in lookups] == [False, True]
    assert lookups[1].subscription == one
    assert [(each.client_id, each.filter) for each in page.subscriptions] == [("a", "x/#")]
    assert run(stream()) == [
        ("a", "x/#"),
        ("ada", "x/#"),
        ("ada", "y"),
        ("ben", "x/#"),
        ("ben", "y"),
    ]
    with pytest.raises(Rejected, match="NOT_FOUND"):
        run(service.Get(missing, None))
    many.subscriptions[1].filter = "y/#/z"
    with pytest.raises(Invalid, match=r"subscriptions\[1\]\.filter"):
        run(service.GetBatch(many, None))
    with pytest.raises(Invalid, match="client_id"):
        run(service.List(ListSubscriptionsRequest(client_id="a"), None))


def test_a_will_is_read_delivered_listed_and_acknowledged(
    service: Any, node: MemoryNode, connect: Any, client: Client
) -> None:
    wills = node.servicer("quorate_mqtt.v1.WillService")
    names = NAMES[:6]
    replies = connect([client(name, will=10) for name in names])
    kept = run(wills.Get(GetWillRequest(tenant="acme", client_id="c00"), None))
    assert (kept.topic, kept.payload) == ("gone", b"bye")
    wanted = [GetWillRequest(tenant="acme", client_id=name) for name in ("nobody", "c00")]
    lookups = run(wills.GetBatch(GetWillsRequest(wills=wanted), None)).lookups
    assert [each.HasField("will") for each in lookups] == [False, True]
    assert lookups[1].will == kept
    with pytest.raises(Invalid, match=r"wills: must be at most 1000"):
        run(wills.GetBatch(GetWillsRequest(wills=wanted * 501), None))
    leaving = [
        DisconnectSession(tenant="acme", client_id=name, generation=reply.generation)
        for name, reply in zip(names, replies, strict=True)
    ]
    run(service.DisconnectBatch(DisconnectSessions(sessions=leaving), None))
    listing = ListWillDeliveriesRequest(tenant="acme")

    run(node.advance(9_999))
    assert not run(wills.ListDeliveries(listing, None)).deliveries
    run(node.advance(1))
    due = run(wills.ListDeliveries(listing, None)).deliveries
    assert [each.client_id for each in due] == names
    own = run(wills.ListDeliveries(ListWillDeliveriesRequest(assignee="north"), None)).deliveries
    assert {each.delivery.assignee for each in own} <= {"north"}
    acknowledged = [
        AcknowledgeWill(tenant="acme", client_id=each.client_id, id=each.delivery.id)
        for each in due
    ]
    reply = run(
        wills.AcknowledgeBatch(AcknowledgeWills(wills=[*acknowledged, AcknowledgeWill()]), None)
    )

    assert [each.item for each in reply.refusals] == [6]
    assert not run(wills.ListDeliveries(listing, None)).deliveries
    assert not run(wills.Acknowledge(acknowledged[0], None)).acknowledged
    with pytest.raises(Rejected, match="NOT_FOUND"):
        run(wills.Get(GetWillRequest(tenant="acme", client_id="c00"), None))


def test_shared_groups_are_made_joined_listed_and_deleted(net: Any) -> None:
    node = net.node
    service = node.servicer("quorate_mqtt.v1.SharedGroupService")
    groups = [CreateSharedGroup(tenant="acme", name=name) for name in ("g", "h", "a/b")]

    reply = run(service.CreateBatch(CreateSharedGroups(groups=groups), None))
    assert [(each.item, each.code) for each in reply.refusals] == [(2, "INVALID_ARGUMENT")]
    join = JoinSharedGroup(
        tenant="acme",
        group="g",
        client_id="ada",
        filter="jobs/+",
        broker="south",
        broker_epoch=net.epochs["south"],
    )
    run(service.Join(join, None))
    run(service.Update(UpdateSharedGroup(tenant="acme", name="h", parameters=b"p"), None))
    one = run(service.Get(GetSharedGroupRequest(tenant="acme", name="h"), None))
    led = run(service.List(ListSharedGroupsRequest(leader="north"), None))
    members = ListSharedGroupMembersRequest(tenant="acme", group="g", broker="south")

    assert (one.group.parameters, one.name) == (b"p", "h")
    wanted = [GetSharedGroupRequest(tenant="acme", name=name) for name in ("no", "h")]
    lookups = run(service.GetBatch(GetSharedGroupsRequest(groups=wanted), None)).lookups
    assert [each.HasField("group") for each in lookups] == [False, True]
    assert lookups[1].group == one
    assert [each.name for each in led.groups] == ["g"]
    [member] = run(service.ListMembers(members, None)).members
    assert (member.client_id, member.filter, member.group) == ("ada", "jobs/+", "g")

    leave = LeaveSharedGroup(
        tenant="acme",
        group="g",
        client_id="ada",
        filter="jobs/+",
        broker_epoch=net.epochs["south"],
    )
    assert run(service.Leave(leave, None)).left
    assert not run(service.ListMembers(members, None)).members
    assert run(service.Delete(DeleteSharedGroup(tenant="acme", name="g"), None)).deleted
    with pytest.raises(Rejected, match="NOT_FOUND"):
        run(service.Get(GetSharedGroupRequest(tenant="acme", name="g"), None))


def test_equal_groups_of_two_tenants_are_listed_apart(net: Any) -> None:
    service = net.node.servicer("quorate_mqtt.v1.SharedGroupService")
    run(net.node.propose(CreateTenant(name="globex"), Tenant))
    for tenant in ("acme", "globex"):
        run(service.Create(CreateSharedGroup(tenant=tenant, name="g"), None))

    async def stream(**wanted: Any) -> list[tuple[str, str]]:
        pages = service.StreamList(ListSharedGroupsRequest(page_size=1, **wanted), None)
        return [(each.tenant, each.name) async for page in pages for each in page.groups]

    assert run(stream()) == [("acme", "g"), ("globex", "g")]
    assert run(stream(tenant="globex")) == [("globex", "g")]
