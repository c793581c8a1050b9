import random
from collections.abc import Callable
from typing import Any

import pytest
from quorate.plugin import Rejected, keys
from quorate.testing import MemoryTxn
from quorate_mqtt.activity import counted
from quorate_mqtt.session_quota.quota import COUNTS
from quorate_mqtt.sessions.apply import connect_sessions, update_sessions
from quorate_mqtt.sessions.connecting import Arrivals
from quorate_mqtt.sessions.families import (
    CONNECTIONS,
    DELAY,
    DELIVERIES,
    EXPIRY,
    SESSIONS,
    SUBSCRIPTIONS,
    WILLS,
)
from quorate_mqtt.shards import client_shard
from quorate_mqtt.subscriptions.resource import set_subscription
from quorate_mqtt.v1.sessions_pb2 import (
    ConnectReply,
    ConnectSession,
    ConnectSessions,
    DeleteSession,
    DisconnectSession,
    ImportSession,
    Session,
    SessionConnect,
    UpdateSession,
    UpdateSessions,
)
from quorate_mqtt.v1.subscriptions_pb2 import SetSubscription
from quorate_mqtt.v1.wills_pb2 import WillDelivery

from plugins.mqtt.tests.sessions.single import (
    connect_session,
    delete_session,
    disconnect_session,
    import_session,
    update_session,
)

ADA = client_shard("acme", "ada")
Shard = Callable[..., MemoryTxn]
Client = Callable[..., SessionConnect]


def connect(
    txn: MemoryTxn, arrival: SessionConnect, broker: str = "north", epoch: int = 1
) -> ConnectReply:
    return connect_session(
        txn, ConnectSession(broker=broker, broker_epoch=epoch, connection=arrival)
    )


def session(txn: MemoryTxn, client: bytes = ADA) -> Session:
    return Session.FromString(txn.rows(SESSIONS)[client])


def connections(txn: MemoryTxn) -> dict[int, int]:
    found = {}
    for key, value in txn.rows(CONNECTIONS).items():
        [epoch] = keys.unpack(key)
        assert isinstance(epoch, int)
        found[epoch] = int.from_bytes(value)
    return found


def refusal(call: Callable[[], object]) -> str:
    with pytest.raises(Rejected) as refused:
        call()
    return refused.value.code


def test_a_connect_begins_a_session(shard: Shard, client: Client) -> None:
    txn = shard()

    reply = connect(txn, client(connection=9, expiry=60, payload=b"kept"))

    assert not reply.session_present
    assert session(txn) == Session(
        generation=reply.generation,
        broker="north",
        broker_epoch=1,
        created_at_ms=1_000,
        connected_at_ms=1_000,
        connection_id=9,
        expiry_interval_s=60,
        payload=b"kept",
    )
    assert connections(txn) == {1: 1}
    assert txn.deadlines == {}


def test_a_connect_always_wins_and_adds_one_to_the_generation(shard: Shard, client: Client) -> None:
    txn = shard()
    first = connect(txn, client())

    second = connect(txn, client(), "south", 2)

    assert second.generation == first.generation + 1
    assert second.session_present
    assert second.taken_over_from == "north"
    assert (session(txn).broker, session(txn).broker_epoch) == ("south", 2)
    assert connections(txn) == {2: 1}


@pytest.mark.parametrize("broker", ["north", "n" * 127, "n" * 128])
def test_the_quick_path_of_a_batch_takes_over_as_the_careful_one_does(
    shard: Shard, client: Client, broker: str
) -> None:
    quick, careful = (shard(**{broker: 1, "south": 2}) for _ in range(2))
    old = [client("ada", payload=b"old"), client("bob", will=5), client("eve", expiry=0)]
    for txn in (quick, careful):
        for each in old:
            connect(txn, each, broker)
    coming = [client(each.client_id, expiry=90, payload=b"new") for each in old]
    clients = [client_shard("acme", each.client_id) for each in coming]

    arrivals = Arrivals(careful, "south", 2)
    before = careful.rows(SESSIONS)
    expected = [
        arrivals.take(each, key, before[key]) for each, key in zip(coming, clients, strict=True)
    ]
    arrivals.close(len(coming))
    batch = ConnectSessions(broker="south", broker_epoch=2, connections=coming)
    replies = connect_sessions(quick, batch).replies

    assert [ConnectReply.FromString(each) for each in replies] == [
        ConnectReply.FromString(each) for each in expected
    ]
    assert list(replies) == expected
    assert ConnectReply.FromString(replies[0]).taken_over_from == broker
    assert connections(quick) == connections(careful) == {2: 3}
    assert counted(quick) == counted(careful)
    assert counted(quick).take_overs == 3
    assert quick.rows(SESSIONS) == careful.rows(SESSIONS)


@pytest.mark.parametrize("limit", [None, 9])
@pytest.mark.parametrize("at_ms", [1_000, 1_764_000_000_000, 1 << 42])
@pytest.mark.parametrize("seed", range(6))
def test_a_batch_of_all_kinds_connects_each_as_the_careful_way_does(
    shard: Shard, client: Client, seed: int, at_ms: int, limit: int | None
) -> None:
    limits = {} if limit is None else {"mqtt.sessions": limit}
    quick, careful = (shard(north=1, south=2, limits=limits, at_ms=at_ms) for _ in range(2))
    for txn in (quick, careful):
        for name in ("here", "will", "left", "left willing", "clean"):
            connect(txn, client(name, will=5 if "will" in name else None), "south", 2)
        import_session(txn, ImportSession(tenant="acme", client_id="brought", expiry_interval_s=60))
        connect(txn, client("ending", expiry=0), "south", 2)
        connect(txn, client("there"), "north", 1)
        for name in ("left", "left willing"):
            disconnect_session(
                txn, DisconnectSession(tenant="acme", client_id=name, generation=txn.revision)
            )
    names = ["here", "will", "left", "left willing", "brought", "there", "ending"]
    names += ["new", "more", "much"]
    coming = [
        client("clean", clean=True),
        client("stranger", tenant="unknown"),
        *(client(name, payload=name.encode() * place) for place, name in enumerate(names)),
        client("willing", will=9),
    ]
    random.Random(seed).shuffle(coming)

    arrivals = Arrivals(careful, "south", 2)
    expected = []
    for arrival in coming:
        key = client_shard(arrival.tenant, arrival.client_id)
        try:
            expected.append(arrivals.take(arrival, key, careful.rows(SESSIONS).get(key)))
        except Rejected as refusal:
            expected.append(refusal.code.encode())
    arrivals.close(len(coming))
    answer = connect_sessions(
        quick, ConnectSessions(broker="south", broker_epoch=2, connections=coming)
    )

    found = list(answer.replies)
    for each in answer.refusals:
        assert not found[each.item]
        found[each.item] = each.code.encode()
    assert found == expected
    assert quick.rows(SESSIONS) == careful.rows(SESSIONS)
    assert connections(quick) == connections(careful)
    assert quick.deadlines == careful.deadlines
    for family in (WILLS, DELIVERIES, COUNTS):
        assert quick.rows(family) == careful.rows(family)


def test_a_connect_of_the_same_broker_takes_nothing_over_from_another(
    shard: Shard, client: Client
) -> None:
    txn = shard()
    connect(txn, client(connection=1))

    reply = connect(txn, client(connection=2))

    assert (reply.session_present, reply.taken_over_from) == (True, "")
    assert connections(txn) == {1: 1}


def test_who_was_taken_over_updates_and_disconnects_nothing(shard: Shard, client: Client) -> None:
    txn = shard()
    old = connect(txn, client()).generation
    connect(txn, client(), "south", 2)
    before = txn.rows(SESSIONS)
    named: dict[str, Any] = {"tenant": "acme", "client_id": "ada", "generation": old}

    codes = [
        refusal(lambda: update_session(txn, UpdateSession(**named, payload=b"late"))),
        refusal(lambda: disconnect_session(txn, DisconnectSession(**named))),
        refusal(lambda: delete_session(txn, DeleteSession(**named))),
    ]

    assert codes == ["TAKEN_OVER"] * 3
    assert txn.rows(SESSIONS) == before


def test_a_generation_is_never_used_again_not_even_by_a_new_session(
    shard: Shard, client: Client
) -> None:
    txn = shard()
    old = connect(txn, client()).generation
    for _ in range(5):
        txn = txn.then(1_000)
        old = connect(txn, client()).generation
    txn = txn.then(1_000)
    delete_session(txn, DeleteSession(tenant="acme", client_id="ada"))
    txn = txn.then(1_000)

    new = connect(txn, client(), "south", 2).generation

    assert new > old


@pytest.mark.parametrize(
    ("broker", "epoch", "code"),
    [
        ("north", 1, "FENCED"),
        ("west", 2, "FENCED"),
        ("north", 9, "BROKER_UNKNOWN"),
        ("west", 9, "BROKER_UNKNOWN"),
    ],
)
def test_a_connect_is_fenced_only_when_its_registration_has_surely_ended(
    shard: Shard, client: Client, broker: str, epoch: int, code: str
) -> None:
    txn = shard(north=3, south=4)

    found = refusal(lambda: connect(txn, client(), broker, epoch))

    assert found == code
    assert txn.rows(SESSIONS) == {}


@pytest.mark.parametrize("tenant", ["globex"])
def test_a_connect_needs_its_tenant(shard: Shard, client: Client, tenant: str) -> None:
    txn = shard()

    assert refusal(lambda: connect(txn, client(tenant=tenant))) == "NOT_FOUND"
    assert txn.events == []


def test_one_bad_item_never_hides_the_others(shard: Shard, client: Client) -> None:
    txn = shard()
    arrivals = [client("ada"), client("ben", tenant="globex"), client("cleo")]

    reply = connect_sessions(
        txn, ConnectSessions(broker="north", broker_epoch=1, connections=arrivals)
    )

    assert reply.items == 3
    assert [(each.item, each.code) for each in reply.refusals] == [(1, "NOT_FOUND")]
    assert reply.replies[1] == b""
    generations = [ConnectReply.FromString(reply.replies[item]).generation for item in (0, 2)]
    rows = [session(txn, client_shard("acme", name)) for name in ("ada", "cleo")]
    assert [row.generation for row in rows] == generations
    assert len(txn.rows(SESSIONS)) == 2
    assert connections(txn) == {1: 2}


def test_a_batch_says_what_single_connects_say(shard: Shard, client: Client) -> None:
    one, many = shard(), shard()
    arrivals = [
        client("ada", will=0),
        client("ben", will=5),
        client("cleo", clean=True),
        client("dan"),
    ]
    for txn in (one, many):
        for arrival in arrivals:
            connect(txn, arrival, "south", 2)
    one, many = one.then(2_000), many.then(2_000)

    singles = [connect(one, arrival) for arrival in arrivals]
    batch = connect_sessions(
        many, ConnectSessions(broker="north", broker_epoch=1, connections=arrivals)
    )

    assert [ConnectReply.FromString(reply) for reply in batch.replies] == singles
    for family in (SESSIONS, WILLS, DELIVERIES, CONNECTIONS):
        assert one.rows(family) == many.rows(family)


def test_a_client_that_comes_back_keeps_its_session(shard: Shard, client: Client) -> None:
    txn = shard()
    generation = connect(txn, client()).generation
    disconnect_session(
        txn, DisconnectSession(tenant="acme", client_id="ada", generation=generation)
    )
    txn = txn.then(30_000)

    reply = connect(txn, client())

    assert reply.session_present
    assert (session(txn).created_at_ms, session(txn).connected_at_ms) == (1_000, 30_000)
    assert session(txn).disconnected_at_ms == 0
    assert txn.deadlines == {}
    assert connections(txn) == {1: 1}


def test_a_clean_start_ends_the_session_that_there_is(shard: Shard, client: Client) -> None:
    txn = shard()
    first = connect(txn, client(will=30)).generation
    set_subscription(txn, SetSubscription(tenant="acme", client_id="ada", filter="a/b"))
    set_subscription(txn, SetSubscription(tenant="acme", client_id="ada", filter="a/c"))
    txn = txn.then(2_000)

    reply = connect(txn, client(clean=True), "south", 2)

    assert not reply.session_present
    assert reply.generation == first + 1
    assert session(txn).created_at_ms == 2_000
    assert txn.rows(SUBSCRIPTIONS) == {}
    # The session of the will has ended, and with it the wait.
    [delivery] = txn.rows(DELIVERIES).values()
    assert WillDelivery.FromString(delivery).will.topic == "gone"
    assert txn.rows(WILLS) == {}
    assert connections(txn) == {2: 1}


def test_a_take_over_publishes_a_will_without_delay(shard: Shard, client: Client) -> None:
    txn = shard()
    connect(txn, client(connection=1, will=0))

    connect(txn, client(connection=2))

    assert len(txn.rows(DELIVERIES)) == 1
    assert txn.rows(WILLS) == {}


def test_a_take_over_cancels_a_will_that_would_wait(shard: Shard, client: Client) -> None:
    txn = shard()
    connect(txn, client(connection=1, will=30))

    connect(txn, client(connection=2, will=40), "south", 2)

    assert txn.rows(DELIVERIES) == {}
    assert list(txn.rows(WILLS)) == [ADA]
    assert txn.deadlines == {}


def test_the_same_connect_sent_again_publishes_no_will(shard: Shard, client: Client) -> None:
    txn = shard()
    first = connect(txn, client(connection=1, will=0))

    second = connect(txn, client(connection=1, will=0))

    assert second.generation == first.generation + 1
    assert txn.rows(DELIVERIES) == {}
    assert list(txn.rows(WILLS)) == [ADA]


def test_a_client_that_comes_back_in_time_has_no_will_published(
    shard: Shard, client: Client
) -> None:
    txn = shard()
    generation = connect(txn, client(will=10)).generation
    disconnect_session(
        txn, DisconnectSession(tenant="acme", client_id="ada", generation=generation)
    )
    assert txn.deadlines == {(DELAY, ADA): 11_000, (EXPIRY, ADA): 61_000}

    connect(txn, client())

    assert txn.deadlines == {}
    assert (txn.rows(WILLS), txn.rows(DELIVERIES)) == ({}, {})


def test_an_update_replaces_what_it_names(shard: Shard, client: Client) -> None:
    txn = shard()
    generation = connect(txn, client(payload=b"old", expiry=60)).generation
    named: dict[str, Any] = {"tenant": "acme", "client_id": "ada", "generation": generation}

    update_session(txn, UpdateSession(**named, payload=b"new"))
    assert (session(txn).payload, session(txn).expiry_interval_s) == (b"new", 60)
    update_session(txn, UpdateSession(**named, expiry_interval_s=0))

    assert (session(txn).payload, session(txn).expiry_interval_s) == (b"new", 0)
    assert session(txn).generation == generation


def test_an_update_of_a_session_with_a_will_keeps_the_will(shard: Shard, client: Client) -> None:
    txn = shard()
    generation = connect(txn, client(payload=b"old", will=3)).generation

    update_session(
        txn,
        UpdateSession(tenant="acme", client_id="ada", generation=generation, payload=b"new"),
    )

    assert (session(txn).payload, session(txn).has_will) == (b"new", True)


def test_an_update_moves_the_end_of_a_session_without_client(shard: Shard, client: Client) -> None:
    txn = shard()
    generation = connect(txn, client()).generation
    named: dict[str, Any] = {"tenant": "acme", "client_id": "ada", "generation": generation}
    disconnect_session(txn, DisconnectSession(**named))

    update_session(txn, UpdateSession(**named, expiry_interval_s=5))

    assert txn.deadlines == {(EXPIRY, ADA): 6_000}


def test_updates_are_answered_one_by_one(shard: Shard, client: Client) -> None:
    txn = shard()
    generation = connect(txn, client()).generation
    updates = [
        UpdateSession(tenant="acme", client_id="ben", generation=1, payload=b"x"),
        UpdateSession(tenant="acme", client_id="ada", generation=generation, payload=b"x"),
    ]

    reply = update_sessions(txn, UpdateSessions(sessions=updates))

    assert reply.items == 2
    assert [(each.item, each.code) for each in reply.refusals] == [(0, "NOT_FOUND")]
    assert session(txn).payload == b"x"


@pytest.mark.parametrize(("broker", "epoch"), [("north", 1), ("south", 2)])
def test_a_session_that_ends_with_its_connection_is_not_taken_over(
    shard: Shard, client: Client, broker: str, epoch: int
) -> None:
    txn = shard()
    first = connect(txn, client(connection=9, expiry=0))
    subscription = SetSubscription(tenant="acme", client_id="ada", filter="alarms/#")
    set_subscription(txn, subscription)

    again = connect(txn, client(connection=9, expiry=0))
    reply = connect(txn, client(connection=10, expiry=60), broker, epoch)

    assert (again.session_present, reply.session_present) == (True, False)
    assert reply.generation > again.generation > first.generation
    assert txn.rows(SUBSCRIPTIONS) == {}
    assert connections(txn) == {epoch: 1}
