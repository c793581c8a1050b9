from collections.abc import Callable

import pytest
from quorate.plugin import Rejected
from quorate.testing import MemoryTxn
from quorate_mqtt.sessions.apply import (
    delete_sessions,
    disconnect_orphans,
    disconnect_sessions,
    expire_sessions,
)
from quorate_mqtt.sessions.families import (
    CONNECTIONS,
    DELAY,
    DELIVERIES,
    EXPIRY,
    SESSIONS,
    SUBSCRIPTIONS,
    WILLS,
)
from quorate_mqtt.sessions.validation import NEVER
from quorate_mqtt.shards import client_shard
from quorate_mqtt.subscriptions.resource import set_subscription
from quorate_mqtt.v1.sessions_pb2 import (
    ConnectSession,
    DeleteSession,
    DeleteSessionReply,
    DeleteSessions,
    DisconnectOrphans,
    DisconnectReply,
    DisconnectSession,
    DisconnectSessions,
    ExpireSessions,
    Session,
    SessionConnect,
)
from quorate_mqtt.v1.subscriptions_pb2 import SetSubscription
from quorate_mqtt.v1.wills_pb2 import DeliverWills
from quorate_mqtt.wills.resource import deliver_wills

from plugins.mqtt.tests.sessions.single import connect_session, delete_session, disconnect_session

ADA = client_shard("acme", "ada")
Shard = Callable[..., MemoryTxn]
Client = Callable[..., SessionConnect]


def connect(txn: MemoryTxn, arrival: SessionConnect, broker: str = "north", epoch: int = 1) -> int:
    command = ConnectSession(broker=broker, broker_epoch=epoch, connection=arrival)
    return connect_session(txn, command).generation


def leave(txn: MemoryTxn, generation: int, **more: object) -> DisconnectReply:
    return disconnect_session(
        txn,
        DisconnectSession(tenant="acme", client_id="ada", generation=generation, **more),  # type: ignore[arg-type]
    )


def subscribe(txn: MemoryTxn, client_id: str, *filters: str) -> None:
    for each in filters:
        set_subscription(txn, SetSubscription(tenant="acme", client_id=client_id, filter=each))


def test_a_session_lasts_its_interval_behind_the_disconnect(shard: Shard, client: Client) -> None:
    txn = shard(at_ms=5_000)

    reply = leave(txn, connect(txn, client(expiry=60)))

    assert reply == DisconnectReply(expires_at_ms=65_000)
    assert txn.deadlines == {(EXPIRY, ADA): 65_000}
    assert Session.FromString(txn.rows(SESSIONS)[ADA]).disconnected_at_ms == 5_000
    assert txn.rows(CONNECTIONS) == {}


def test_a_session_with_the_largest_interval_never_expires(shard: Shard, client: Client) -> None:
    txn = shard()

    reply = leave(txn, connect(txn, client(expiry=NEVER)))

    assert reply == DisconnectReply()
    assert txn.deadlines == {}
    assert ADA in txn.rows(SESSIONS)


def test_a_session_without_interval_ends_at_its_disconnect(shard: Shard, client: Client) -> None:
    txn = shard()
    generation = connect(txn, client(expiry=0, will=30))
    subscribe(txn, "ada", "a", "b")

    reply = leave(txn, generation)

    assert reply.ended
    assert (txn.rows(SESSIONS), txn.rows(SUBSCRIPTIONS), txn.rows(WILLS)) == ({}, {}, {})
    # The shorter of delay and interval is none: the will is due at once.
    assert len(txn.rows(DELIVERIES)) == 1
    assert txn.deadlines == {}


def test_a_disconnect_may_give_another_interval(shard: Shard, client: Client) -> None:
    txn = shard()

    leave(txn, connect(txn, client(expiry=60)), expiry_interval_s=5)

    assert txn.deadlines == {(EXPIRY, ADA): 6_000}


def test_a_disconnect_gives_no_interval_to_a_session_that_had_none(
    shard: Shard, client: Client
) -> None:
    txn = shard()
    generation = connect(txn, client(expiry=0))

    with pytest.raises(Rejected, match="FAILED_PRECONDITION: expiry_interval_s"):
        leave(txn, generation, expiry_interval_s=5)

    assert Session.FromString(txn.rows(SESSIONS)[ADA]).disconnected_at_ms == 0


def test_who_takes_leave_has_no_will_published(shard: Shard, client: Client) -> None:
    txn = shard()

    leave(txn, connect(txn, client(will=0)), discard_will=True)

    assert (txn.rows(WILLS), txn.rows(DELIVERIES)) == ({}, {})
    assert list(txn.deadlines) == [(EXPIRY, ADA)]


@pytest.mark.parametrize(
    ("delay", "expiry", "due_ms"), [(10, 60, 11_000), (60, 10, 11_000), (30, NEVER, 31_000)]
)
def test_a_will_waits_the_shorter_of_its_delay_and_the_session(
    shard: Shard, client: Client, delay: int, expiry: int, due_ms: int
) -> None:
    txn = shard()

    leave(txn, connect(txn, client(will=delay, expiry=expiry)))

    assert txn.deadlines[DELAY, ADA] == due_ms
    assert txn.rows(DELIVERIES) == {}


def test_a_disconnect_that_is_sent_again_changes_nothing(shard: Shard, client: Client) -> None:
    txn = shard()
    generation = connect(txn, client(will=5))
    first = leave(txn, generation)
    later = txn.then(3_000)
    before = later.rows(SESSIONS)

    again = leave(later, generation, expiry_interval_s=99)

    assert again == first
    assert later.rows(SESSIONS) == before
    assert later.deadlines == txn.deadlines


def test_disconnects_are_answered_one_by_one(shard: Shard, client: Client) -> None:
    txn = shard()
    generation = connect(txn, client(expiry=0))
    batch = DisconnectSessions(
        sessions=[
            DisconnectSession(tenant="acme", client_id="ben", generation=1),
            DisconnectSession(tenant="acme", client_id="ada", generation=generation),
        ]
    )

    reply = disconnect_sessions(txn, batch)

    assert [(each.item, each.code) for each in reply.refusals] == [(0, "NOT_FOUND")]
    assert DisconnectReply.FromString(reply.replies[1]).ended
    assert (reply.items, txn.rows(SESSIONS)) == (2, {})


def test_a_deleted_session_takes_subscriptions_and_will_along(shard: Shard, client: Client) -> None:
    txn = shard()
    connect(txn, client(will=0))
    connect(txn, client("adam"))
    subscribe(txn, "ada", *(f"t/{number}" for number in range(250)))
    subscribe(txn, "adam", "kept")

    reply = delete_session(txn, DeleteSession(tenant="acme", client_id="ada"))

    assert reply.deleted
    assert list(txn.rows(SESSIONS)) == [client_shard("acme", "adam")]
    assert len(txn.rows(SUBSCRIPTIONS)) == 1
    # Who deletes a session does not want its will published.
    assert (txn.rows(WILLS), txn.rows(DELIVERIES)) == ({}, {})


def test_what_is_not_there_is_deleted_without_a_refusal(shard: Shard, client: Client) -> None:
    txn = shard()
    connect(txn, client())
    names = ("ben", "ada")
    batch = DeleteSessions(
        sessions=[DeleteSession(tenant="acme", client_id=name) for name in names]
    )

    reply = delete_sessions(txn, batch)

    deleted = [DeleteSessionReply.FromString(each).deleted for each in reply.replies]
    assert (reply.items, deleted) == (2, [False, True])
    assert txn.rows(SESSIONS) == {}


def test_equal_client_ids_of_two_tenants_are_two_clients(shard: Shard) -> None:
    assert client_shard("a", "b/c") != client_shard("a/b", "c")
    assert client_shard("a", "c") != client_shard("b", "c")


def test_a_session_expires_only_when_its_deadline_has_come(shard: Shard, client: Client) -> None:
    txn = shard()
    leave(txn, connect(txn, client(expiry=60)))
    early, late = txn.then(60_999), None

    expire_sessions(early, ExpireSessions(keys=[ADA]))
    assert ADA in early.rows(SESSIONS)
    late = early.then(61_000)
    expire_sessions(late, ExpireSessions(keys=[ADA]))

    assert late.rows(SESSIONS) == {}
    assert late.deadlines == {}


def test_a_take_over_cancels_the_expiry(shard: Shard, client: Client) -> None:
    txn = shard()
    leave(txn, connect(txn, client(expiry=60)))
    connect(txn, client(expiry=60), "south", 2)
    due = txn.then(61_000)

    expire_sessions(due, ExpireSessions(keys=[ADA]))

    assert ADA in due.rows(SESSIONS)


def test_an_expired_session_publishes_the_will_that_waits(shard: Shard, client: Client) -> None:
    txn = shard()
    leave(txn, connect(txn, client(expiry=10, will=10)))
    due = txn.then(11_000)

    expire_sessions(due, ExpireSessions(keys=[ADA]))
    deliver_wills(due, DeliverWills(keys=[ADA]))

    assert len(due.rows(DELIVERIES)) == 1
    assert due.deadlines == {}


def test_a_will_is_published_once_when_it_is_due_before_the_session(
    shard: Shard, client: Client
) -> None:
    txn = shard()
    leave(txn, connect(txn, client(expiry=10, will=10)))
    due = txn.then(11_000)

    deliver_wills(due, DeliverWills(keys=[ADA]))
    expire_sessions(due, ExpireSessions(keys=[ADA]))

    assert len(due.rows(DELIVERIES)) == 1
    assert due.rows(SESSIONS) == {}


def test_the_clients_of_a_broker_that_is_gone_are_disconnected(
    shard: Shard, client: Client
) -> None:
    txn = shard(south=2)
    for name in ("ada", "ben"):
        connect(txn, client(name, will=7), "south", 2)
    rows = {family: txn.rows(family) for family in (SESSIONS, WILLS, CONNECTIONS)}
    gone = shard(at_ms=9_000, north=3, rows=rows)
    keys = [ADA, client_shard("acme", "ben"), client_shard("acme", "cleo")]

    reply = disconnect_orphans(gone, DisconnectOrphans(keys=keys))

    assert reply.items == 3
    assert Session.FromString(gone.rows(SESSIONS)[ADA]).disconnected_at_ms == 9_000
    assert gone.rows(CONNECTIONS) == {}
    assert gone.deadlines[DELAY, ADA] == 16_000
    assert gone.deadlines[EXPIRY, ADA] == 69_000


def test_the_clients_of_a_broker_that_lives_are_left_alone(shard: Shard, client: Client) -> None:
    txn = shard()
    connect(txn, client())
    before = txn.rows(SESSIONS)

    disconnect_orphans(txn, DisconnectOrphans(keys=[ADA]))

    assert txn.rows(SESSIONS) == before


def test_an_erased_session_publishes_nothing(shard: Shard, client: Client) -> None:
    txn = shard()
    connect(txn, client(will=0))

    named = [DeleteSession(tenant="acme", client_id=name) for name in ("ada", "ben")]
    delete_sessions(txn, DeleteSessions(sessions=named))

    assert (txn.rows(SESSIONS), txn.rows(WILLS), txn.rows(DELIVERIES)) == ({}, {}, {})
