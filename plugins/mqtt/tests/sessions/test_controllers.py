from asyncio import run
from collections.abc import Callable
from typing import Any

import pytest
from quorate.plugin import Rejected, keys
from quorate.v1.batch_pb2 import BatchReply
from quorate_mqtt.duties.apply import HAND_OVER, hand_over
from quorate_mqtt.sessions import controllers, resource
from quorate_mqtt.sessions.controllers import ORPHANS, disconnect_orphans
from quorate_mqtt.sessions.families import CONNECTIONS, DELIVERIES, SESSIONS, SUBSCRIPTIONS, WILLS
from quorate_mqtt.shared_groups.leading import GROUPS, MEMBERS
from quorate_mqtt.v1.sessions_pb2 import ConnectSessions, DisconnectOrphans, Session, SessionConnect
from quorate_mqtt.v1.shared_groups_pb2 import (
    CreateSharedGroup,
    CreateSharedGroups,
    JoinSharedGroup,
    SharedGroup,
)
from quorate_mqtt.v1.subscriptions_pb2 import SetSubscription, SetSubscriptionReply
from quorate_mqtt.v1.wills_pb2 import WillDelivery

Client = Callable[..., SessionConnect]
NAMES = [f"c{number:02}" for number in range(20)]


def connect(net: Any, broker: str, arrivals: list[SessionConnect]) -> None:
    command = ConnectSessions(broker=broker, broker_epoch=net.epochs[broker], connections=arrivals)
    assert not run(net.node.propose(command, BatchReply)).refusals


def sessions(net: Any) -> dict[str, Session]:
    return {
        str(keys.unpack(key)[1]): Session.FromString(row)
        for key, row in net.node.rows(SESSIONS).items()
    }


def assignees(net: Any) -> set[str]:
    rows = net.node.rows(DELIVERIES).values()
    return {WillDelivery.FromString(row).assignee for row in rows}


@pytest.mark.parametrize("looked_at", [1, 3, 2_000])
def test_the_clients_of_a_dead_broker_are_found_whatever_their_number(
    net: Any, client: Client, monkeypatch: pytest.MonkeyPatch, looked_at: int
) -> None:
    monkeypatch.setattr(resource, "MOST", looked_at)
    monkeypatch.setattr(controllers, "BATCH", 4)
    connect(net, "north", [client(name, will=5) for name in NAMES])
    connect(net, "south", [client("kept")])
    run(net.node.run_controller(ORPHANS.name))
    assert not any(isinstance(each, DisconnectOrphans) for each in net.node.proposals)
    net.kill("north")

    run(net.node.run_controller(ORPHANS.name))

    gone = {name for name, session in sessions(net).items() if session.disconnected_at_ms}
    assert gone == set(NAMES)
    assert len(net.node.rows(CONNECTIONS)) == 1
    before = len(net.node.proposals)
    run(net.node.run_controller(ORPHANS.name))
    assert len(net.node.proposals) == before


def test_a_broker_that_dies_wakes_the_controllers(net: Any, client: Client) -> None:
    connect(net, "north", [client(will=0)])
    net.kill("north")

    assert {ORPHANS.name, HAND_OVER.name} <= set(net.node.woken)
    run(net.node.run_woken())

    assert sessions(net)["ada"].disconnected_at_ms
    assert assignees(net) == {"south"}


def test_a_will_of_a_dead_brokers_client_is_published_after_its_delay(
    net: Any, client: Client
) -> None:
    connect(net, "north", [client(will=10, expiry=60)])
    net.kill("north")
    run(net.node.run_controller(ORPHANS.name))

    run(net.node.advance(9_999))
    assert net.node.rows(DELIVERIES) == {}
    run(net.node.advance(1))

    assert assignees(net) == {"south"}
    assert net.node.rows(WILLS) == {}
    run(net.node.advance(50_000))
    assert sessions(net) == {}
    assert len(net.node.rows(DELIVERIES)) == 1


def test_a_client_that_is_taken_over_in_time_is_no_orphan(net: Any, client: Client) -> None:
    connect(net, "north", [client(will=10)])
    net.kill("north")

    connect(net, "south", [client(will=10)])
    run(net.node.run_controller(ORPHANS.name))
    run(net.node.advance(100_000))

    assert sessions(net)["ada"].disconnected_at_ms == 0
    # The connection to the dead broker was lost, but its client was back before the delay.
    assert net.node.rows(DELIVERIES) == {}


def test_duties_go_from_the_dead_to_the_living_until_nobody_is_left(
    net: Any, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quorate_mqtt.duties.apply.BATCH", 3)
    connect(net, "north", [client(name, will=0, expiry=0) for name in NAMES])
    groups = [CreateSharedGroup(tenant="acme", name=f"g{number}") for number in range(6)]
    run(net.node.propose(CreateSharedGroups(groups=groups), BatchReply))
    join = JoinSharedGroup(
        tenant="acme",
        group="g0",
        client_id="ada",
        filter="f",
        broker="north",
        broker_epoch=net.epochs["north"],
    )
    run(net.node.propose(join, SharedGroup))
    net.kill("north")
    run(net.node.run_woken())
    assert assignees(net) == {"south"}
    assert len(net.node.rows(DELIVERIES)) == len(NAMES)
    assert net.node.rows(MEMBERS) == {}

    net.kill("south")
    run(net.node.run_woken())
    assert assignees(net) == {""}

    net.register("west")
    run(net.node.run_woken())
    assert assignees(net) == {"west"}
    leaders = {SharedGroup.FromString(row).leader for row in net.node.rows(GROUPS).values()}
    assert leaders == {"west"}


def test_a_copy_that_lags_is_caught_up_with_by_a_later_run(net: Any, client: Client) -> None:
    connect(net, "north", [client(expiry=9)])
    net.node.mirrors_lag = True
    net.kill("north")
    run(net.node.run_controller(ORPHANS.name))
    assert sessions(net)["ada"].disconnected_at_ms == 0

    net.node.mirror()
    run(net.node.run_controller(ORPHANS.name))

    assert sessions(net)["ada"].disconnected_at_ms


@pytest.mark.parametrize("run_once", [disconnect_orphans, hand_over])
def test_a_leader_of_an_earlier_term_changes_nothing(
    net: Any, client: Client, run_once: Any
) -> None:
    connect(net, "north", [client(will=0, expiry=0), client("ben")])
    net.kill("north")
    if run_once is hand_over:
        run(net.node.run_controller(ORPHANS.name))
        net.kill("south")
    deposed = net.node.leader("mqtt")
    net.node.elect("mqtt")
    before = net.node.digest()

    with pytest.raises(Rejected, match="ABORTED"):
        run(run_once(net.node, deposed))

    assert net.node.digest() == before


def test_expiry_is_worked_off_in_batches(net: Any, client: Client) -> None:
    connect(net, "north", [client(name, expiry=5) for name in NAMES])
    for name in NAMES:
        command = SetSubscription(tenant="acme", client_id=name, filter="a")
        run(net.node.propose(command, SetSubscriptionReply))
    net.kill("north")
    run(net.node.run_controller(ORPHANS.name))

    run(net.node.advance(4_999))
    assert len(sessions(net)) == len(NAMES)
    run(net.node.advance(1))

    assert (sessions(net), net.node.rows(SUBSCRIPTIONS)) == ({}, {})
