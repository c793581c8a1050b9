"""The subscriptions of many clients at once: all of a client's, or none of them."""

from asyncio import gather, run
from collections.abc import Callable
from typing import Any, cast

import pytest
from quorate.client import AsyncClient
from quorate.plugin import Invalid
from quorate.testing import MemoryNode
from quorate.testing.memory_client import MemoryClient
from quorate_mqtt.client import Mqtt
from quorate_mqtt.sessions.resource import SESSION
from quorate_mqtt.subscriptions import gathering
from quorate_mqtt.subscriptions.resource import SUBSCRIPTION
from quorate_mqtt.v1 import sessions_pb2, subscriptions_pb2 as pb

NAMES = [f"c{number:02}" for number in range(20)]
Client = Callable[..., sessions_pb2.SessionConnect]


@pytest.fixture
def node(net: Any, client: Client) -> MemoryNode:
    """Twenty clients over all shards: the first has no subscription, the second one, and so on."""
    node: MemoryNode = net.node
    connections = [client(name) for name in NAMES]
    request = sessions_pb2.ConnectSessions(
        broker="north", broker_epoch=net.epochs["north"], connections=connections
    )
    sessions = node.servicer(SESSION.service.full_name)
    assert not run(sessions.ConnectBatch(request, None)).refusals
    items = [
        pb.SetSubscription(tenant="acme", client_id=name, filter=f"f/{number}", qos=1)
        for count, name in enumerate(NAMES)
        for number in range(count)
    ]
    service = node.servicer(SUBSCRIPTION.service.full_name)
    assert not run(service.SetBatch(pb.SetSubscriptions(subscriptions=items), None)).refusals
    return node


def ask(node: MemoryNode, *names: str) -> pb.GatherSubscriptionsResponse:
    request = pb.GatherSubscriptionsRequest(
        clients=[pb.ClientName(tenant="acme", client_id=name) for name in names]
    )
    response: pb.GatherSubscriptionsResponse = run(
        node.servicer(SUBSCRIPTION.service.full_name).Gather(request, None)
    )
    return response


def test_all_subscriptions_of_clients_come_in_their_order(node: MemoryNode) -> None:
    found = ask(node, "c03", "nobody", "c02", "c00", "c02")

    rows = [(each.client_id, each.filter) for each in found.subscriptions]
    assert rows == [("c02", "f/0"), ("c02", "f/1")] + [("c03", f"f/{each}") for each in range(3)]
    assert {(each.tenant, each.subscription.qos) for each in found.subscriptions} == {("acme", 1)}
    assert all(each.revision for each in found.subscriptions)
    assert not found.left_out


def test_clients_for_whom_there_is_no_room_are_left_out(
    node: MemoryNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = ask(node, "c01").subscriptions[0].ByteSize()
    monkeypatch.setattr(gathering, "MOST_BYTES", 6 * size)

    found = ask(node, "c05", "c02", "c03", "c05")

    assert {each.client_id for each in found.subscriptions} == {"c02", "c03"}
    assert list(found.left_out) == [0, 3]


def test_too_many_clients_are_refused(node: MemoryNode) -> None:
    with pytest.raises(Invalid, match="clients"):
        ask(node, *["c01"] * (gathering.MOST_CLIENTS + 1))


@pytest.mark.parametrize("room", [1, gathering.MOST_BYTES])
def test_clients_that_connect_together_share_a_call(
    node: MemoryNode, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    monkeypatch.setattr(gathering, "MOST_BYTES", room)
    q = MemoryClient(node)
    mqtt = Mqtt(cast(AsyncClient, q))

    async def read() -> list[list[str]]:
        found = await gather(*(mqtt.subscriptions_of("acme", name) for name in NAMES))
        return [[each.filter for each in rows] for rows in found]

    found = run(read())

    assert [len(each) for each in found] == list(range(20))
    gathered = [method for method, _ in q.called if method == "Gather"]
    assert len(gathered) == 1
