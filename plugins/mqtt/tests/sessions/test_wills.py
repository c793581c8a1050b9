from collections.abc import Callable

import pytest
from quorate.testing import MemoryTxn
from quorate_mqtt.duties.apply import hand_over_duties
from quorate_mqtt.duties.index import DUTIES, find_duties
from quorate_mqtt.sessions.families import DELIVERIES
from quorate_mqtt.v1.duties_pb2 import FindDuties, HandOverDuties
from quorate_mqtt.v1.sessions_pb2 import ConnectSession, DisconnectSession, SessionConnect
from quorate_mqtt.v1.wills_pb2 import (
    AcknowledgeWill,
    AcknowledgeWillReply,
    AcknowledgeWills,
    EraseWillDeliveries,
    Will,
    WillDelivery,
)
from quorate_mqtt.wills.resource import acknowledge_will, erase_will_deliveries

from plugins.mqtt.tests.sessions.single import carry_out, connect_session, disconnect_session

Shard = Callable[..., MemoryTxn]
Client = Callable[..., SessionConnect]


def lose(txn: MemoryTxn, arrival: SessionConnect, broker: str = "north", epoch: int = 1) -> None:
    """Connect a client, and lose its connection."""
    command = ConnectSession(broker=broker, broker_epoch=epoch, connection=arrival)
    generation = connect_session(txn, command).generation
    disconnect_session(
        txn,
        DisconnectSession(tenant="acme", client_id=arrival.client_id, generation=generation),
    )


def deliveries(txn: MemoryTxn) -> list[WillDelivery]:
    return [WillDelivery.FromString(value) for value in txn.rows(DELIVERIES).values()]


def hand_over(txn: MemoryTxn) -> None:
    duties = list(find_duties(txn, FindDuties()))
    if duties:
        hand_over_duties(txn, HandOverDuties(duties=duties))


def acknowledgement(number: int, client_id: str = "ada") -> AcknowledgeWill:
    return AcknowledgeWill(tenant="acme", client_id=client_id, id=number)


def test_a_will_that_is_due_is_given_to_one_broker_that_lives(shard: Shard, client: Client) -> None:
    txn = shard(at_ms=4_000)

    lose(txn, client(will=0))

    [delivery] = deliveries(txn)
    assert delivery == WillDelivery(
        id=delivery.id,
        assignee=delivery.assignee,
        assignee_epoch={"north": 1, "south": 2}[delivery.assignee],
        due_at_ms=4_000,
        assigned_at_ms=4_000,
        assignments=1,
        will=Will(topic="gone", payload=b"bye", qos=1),
    )


def test_wills_are_given_to_all_brokers_in_turn(shard: Shard, client: Client) -> None:
    txn = shard()
    for number in range(10):
        lose(txn, client(f"c{number}", will=0))

    found = deliveries(txn)

    assert len({delivery.id for delivery in found}) == 10
    assert sorted(delivery.assignee for delivery in found) == ["north"] * 5 + ["south"] * 5


def test_wills_are_given_to_mqtt_brokers_alone(shard: Shard, client: Client) -> None:
    txn = shard(roles={"south": "engine"})
    for number in range(4):
        lose(txn, client(f"c{number}", will=0))

    assert {delivery.assignee for delivery in deliveries(txn)} == {"north"}


def test_a_published_will_is_acknowledged_once(shard: Shard, client: Client) -> None:
    txn = shard()
    lose(txn, client(will=0))
    [delivery] = deliveries(txn)

    first = acknowledge_will(txn, acknowledgement(delivery.id))
    second = acknowledge_will(txn, acknowledgement(delivery.id))

    assert (first.acknowledged, second.acknowledged) == (True, False)
    assert (txn.rows(DELIVERIES), txn.rows(DUTIES)) == ({}, {})


def test_acknowledgements_are_answered_one_by_one(shard: Shard, client: Client) -> None:
    txn = shard()
    lose(txn, client(will=0))
    [delivery] = deliveries(txn)
    wills = [acknowledgement(delivery.id, "ben"), acknowledgement(delivery.id)]

    reply = carry_out(txn, AcknowledgeWills(wills=wills))

    found = [AcknowledgeWillReply.FromString(each).acknowledged for each in reply.replies]
    assert found == [False, True]


def test_a_will_is_given_to_another_broker_when_its_own_is_gone(
    shard: Shard, client: Client
) -> None:
    txn = shard(at_ms=1_000, north=1)
    lose(txn, client(will=0))
    rows = {family: txn.rows(family) for family in (DELIVERIES, DUTIES)}
    gone = shard(at_ms=9_000, south=2, rows=rows)

    hand_over(gone)

    [old], [new] = deliveries(txn), deliveries(gone)
    assert (old.assignee, new.assignee, new.assignee_epoch) == ("north", "south", 2)
    assert (new.id, new.due_at_ms, new.assigned_at_ms) == (old.id, 1_000, 9_000)
    assert new.assignments == 2
    assert list(find_duties(gone, FindDuties())) == []


def test_a_broker_that_registers_again_is_another_assignee(shard: Shard, client: Client) -> None:
    txn = shard(north=1)
    lose(txn, client(will=0))
    rows = {family: txn.rows(family) for family in (DELIVERIES, DUTIES)}
    again = shard(north=5, rows=rows)

    hand_over(again)

    [delivery] = deliveries(again)
    assert (delivery.assignee_epoch, delivery.assignments) == (5, 2)


def test_a_will_waits_for_a_broker_when_there_is_none(shard: Shard, client: Client) -> None:
    txn = shard(roles={"north": "engine"}, north=1)
    lose(txn, client(will=0))
    [waiting] = deliveries(txn)
    assert (waiting.assignee, waiting.assignee_epoch, waiting.assignments) == ("", 0, 0)
    assert list(find_duties(txn, FindDuties())) == []
    rows = {family: txn.rows(family) for family in (DELIVERIES, DUTIES)}
    later = shard(south=2, rows=rows)

    hand_over(later)

    [delivery] = deliveries(later)
    assert (delivery.assignee, delivery.assignments) == ("south", 1)


def test_what_was_acknowledged_meanwhile_is_handed_to_nobody(shard: Shard, client: Client) -> None:
    txn = shard(north=1)
    lose(txn, client(will=0))
    rows = {family: txn.rows(family) for family in (DELIVERIES, DUTIES)}
    gone = shard(south=2, rows=rows)
    duties = list(find_duties(gone, FindDuties()))
    [delivery] = deliveries(gone)
    acknowledge_will(gone, acknowledgement(delivery.id))

    reply = hand_over_duties(gone, HandOverDuties(duties=duties))

    assert (reply.items, list(reply.refusals)) == (1, [])
    assert gone.rows(DELIVERIES) == {}


def test_what_a_living_broker_does_is_not_taken_from_it(shard: Shard, client: Client) -> None:
    txn = shard(north=1)
    lose(txn, client(will=0))
    rows = {family: txn.rows(family) for family in (DELIVERIES, DUTIES)}
    duties = list(find_duties(shard(south=2, rows=rows), FindDuties()))
    before = txn.rows(DELIVERIES)

    hand_over_duties(txn, HandOverDuties(duties=duties))

    assert txn.rows(DELIVERIES) == before


@pytest.mark.parametrize("limit", [1, 3, 0])
def test_duties_are_found_behind_those_of_living_brokers(
    shard: Shard, client: Client, limit: int
) -> None:
    txn = shard(north=1, south=2, west=3)
    for number in range(9):
        lose(txn, client(f"c{number}", will=0))
    rows = {family: txn.rows(family) for family in (DELIVERIES, DUTIES)}

    found = list(find_duties(shard(south=2, rows=rows), FindDuties(limit=limit)))

    assert len(found) == (limit or 6)
    assert {duty.broker_epoch for duty in found} <= {1, 3}


def test_deliveries_are_erased_with_their_tenant(shard: Shard, client: Client) -> None:
    txn = shard()
    lose(txn, client(will=0))
    keys = list(txn.rows(DELIVERIES))

    erase_will_deliveries(txn, EraseWillDeliveries(keys=[*keys, b"\x02x\x00"]))

    assert (txn.rows(DELIVERIES), txn.rows(DUTIES)) == ({}, {})
