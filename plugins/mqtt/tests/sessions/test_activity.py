"""What operators are told: each thing once, wherever it was counted."""

from asyncio import run
from collections.abc import Callable
from typing import Any

import pytest
from quorate.plugin import Rejected
from quorate.testing import MemoryTxn
from quorate.v1.batch_pb2 import BatchReply
from quorate_mqtt.activity import ACTIVITY, COLLECTING, Counts, collect, count, counted
from quorate_mqtt.duties.apply import hand_over_duties
from quorate_mqtt.duties.index import find_duties
from quorate_mqtt.session_quota.controllers import QUOTA_BALANCE
from quorate_mqtt.sessions.apply import connect_sessions, expire_sessions
from quorate_mqtt.sessions.families import DELIVERIES
from quorate_mqtt.shards import client_shard
from quorate_mqtt.v1.activity_pb2 import CollectActivity
from quorate_mqtt.v1.duties_pb2 import FindDuties, HandOverDuties
from quorate_mqtt.v1.sessions_pb2 import (
    ConnectReply,
    ConnectSession,
    ConnectSessions,
    DisconnectReply,
    DisconnectSession,
    ExpireSessions,
    SessionConnect,
)
from quorate_mqtt.v1.wills_pb2 import AcknowledgeWill, WillDelivery
from quorate_mqtt.wills.resource import acknowledge_will

from plugins.mqtt.tests.sessions.single import connect_session, disconnect_session

Shard = Callable[..., MemoryTxn]
Client = Callable[..., SessionConnect]
ADA = client_shard("acme", "ada")
NAMES = [f"c{number:02}" for number in range(20)]


def connect(txn: MemoryTxn, arrival: SessionConnect, broker: str = "north", epoch: int = 1) -> int:
    command = ConnectSession(broker=broker, broker_epoch=epoch, connection=arrival)
    return connect_session(txn, command).generation


def leave(txn: MemoryTxn, generation: int) -> None:
    ended = DisconnectSession(tenant="acme", client_id="ada", generation=generation)
    disconnect_session(txn, ended)


def test_connects_are_counted_and_those_that_take_a_client_over(
    shard: Shard, client: Client
) -> None:
    txn = shard()

    connect(txn, client())
    connect(txn, client())
    connect(txn, client(), "south", 2)

    assert counted(txn) == Counts(connects=3, take_overs=1)


def test_of_a_batch_what_is_refused_is_not_counted(shard: Shard, client: Client) -> None:
    txn = shard()
    connect(txn, client("ben"))
    arrivals = [client("ada"), client("ben"), client("cleo", tenant="nobody")]

    command = ConnectSessions(broker="south", broker_epoch=2, connections=arrivals)
    assert len(connect_sessions(txn, command).refusals) == 1

    assert counted(txn) == Counts(connects=3, take_overs=1)


def test_a_fenced_broker_counts_nothing(shard: Shard, client: Client) -> None:
    txn = shard()

    with pytest.raises(Rejected, match="FENCED"):
        connect(txn, client(), "south", 1)

    assert not txn.rows(ACTIVITY)


def test_a_session_is_expired_once_and_not_when_it_ends_with_its_connection(
    shard: Shard, client: Client
) -> None:
    txn = shard()
    leave(txn, connect(txn, client(expiry=0)))
    leave(txn, connect(txn, client(expiry=3)))
    due = txn.then(4_000)

    for _ in range(2):
        expire_sessions(due, ExpireSessions(keys=[ADA]))

    assert counted(due) == Counts(connects=2, sessions_expired=1)


def hand_over(txn: MemoryTxn) -> None:
    duties = HandOverDuties(duties=find_duties(txn, FindDuties()))
    assert duties.duties
    hand_over_duties(txn, duties)


def test_a_will_is_counted_when_it_is_due_and_when_it_is_published(
    shard: Shard, client: Client
) -> None:
    txn = shard()
    leave(txn, connect(txn, client(will=0)))
    [due] = map(WillDelivery.FromString, txn.rows(DELIVERIES).values())
    assert counted(txn) == Counts(connects=1, wills_due=1)

    for _ in range(2):
        acknowledge_will(txn, AcknowledgeWill(tenant="acme", client_id="ada", id=due.id))

    assert counted(txn) == Counts(connects=1, wills_due=1, wills_published=1)


def test_a_will_is_reassigned_when_it_was_taken_from_a_broker(shard: Shard, client: Client) -> None:
    txn = shard(roles={"north": "mqtt", "south": "other"})
    leave(txn, connect(txn, client(will=0)))
    later = shard(
        south=2, rows={family: txn.rows(family) for family in (DELIVERIES, "mqtt.duties")}
    )

    hand_over(later)

    assert counted(later) == Counts(wills_reassigned=1)


def test_a_will_that_waited_for_a_broker_is_not_reassigned(shard: Shard, client: Client) -> None:
    txn = shard(roles={"north": "other", "south": "other"})
    leave(txn, connect(txn, client(will=0)))
    later = shard(
        south=2, rows={family: txn.rows(family) for family in (DELIVERIES, "mqtt.duties")}
    )

    hand_over(later)

    assert counted(later) == Counts()


def test_what_was_collected_is_counted_anew(shard: Shard) -> None:
    txn = shard()
    some = Counts(*range(1, 7))
    count(txn, some)
    count(txn, some)

    assert collect(txn) == Counts(*range(2, 14, 2))
    assert counted(txn) == Counts()


def test_a_node_is_told_what_all_shards_have_counted_each_thing_once(
    net: Any, client: Client
) -> None:
    def arrive(broker: str, *, wills: int | None = None) -> list[int]:
        command = ConnectSessions(
            broker=broker,
            broker_epoch=net.epochs[broker],
            connections=[client(name, expiry=9, will=wills) for name in NAMES],
        )
        replies = run(net.node.propose(command, BatchReply)).replies
        return [ConnectReply.FromString(each).generation for each in replies]

    run(net.node.run_controller(QUOTA_BALANCE.name))
    arrive("north")
    generations = arrive("south", wills=0)
    for name, generation in zip(NAMES[:3], generations, strict=False):
        ended = DisconnectSession(tenant="acme", client_id=name, generation=generation)
        run(net.node.propose(ended, DisconnectReply))
    run(net.node.advance(9_000))

    run(net.node.run_controller(COLLECTING.name))

    told = {
        "quorate_mqtt_connects_total": 40,
        "quorate_mqtt_take_overs_total": 20,
        "quorate_mqtt_sessions_expired_total": 3,
        'quorate_mqtt_wills_total{event="due"}': 3,
        'quorate_mqtt_wills_total{event="reassigned"}': 0,
        'quorate_mqtt_wills_total{event="published"}': 0,
    }
    assert dict(net.node.metrics) == told
    before = len(net.node.proposals)
    run(net.node.run_controller(COLLECTING.name))
    assert dict(net.node.metrics) == told
    assert len(net.node.proposals) == before


def test_a_shard_that_nothing_leads_to_yet_keeps_its_counts(net: Any, client: Client) -> None:
    epoch = net.epochs["north"]
    arrivals = ConnectSessions(broker="north", broker_epoch=epoch, connections=[client()])
    run(net.node.propose(arrivals, BatchReply))

    run(net.node.run_controller(COLLECTING.name))
    assert not any(isinstance(each, CollectActivity) for each in net.node.proposals)
    run(net.node.run_controller(QUOTA_BALANCE.name))
    run(net.node.run_controller(COLLECTING.name))

    assert net.node.metrics["quorate_mqtt_connects_total"] == 1
