"""A broker knows whose messages must wait in Quorate, as the watch tells of it."""

from __future__ import annotations

import pytest
from quorate.client import ChangeKind, WatchedChange
from quorate.plugin import keys
from quorate_amqtt.away import Away
from quorate_amqtt.messages import Message
from quorate_mqtt.sessions.families import SESSIONS, SUBSCRIPTIONS
from quorate_mqtt.v1.sessions_pb2 import Session
from quorate_mqtt.v1.subscriptions_pb2 import Subscription

HERE, THERE = 1, 2
RESYNC = WatchedChange(kind=ChangeKind.RESYNC)
LISTED = WatchedChange(kind=ChangeKind.LISTED)


def session(client_id: str, epoch: int = 0, created_at_ms: int = 5) -> WatchedChange:
    """A session that a broker serves, or nobody."""
    row = Session(
        generation=1,
        broker_epoch=epoch or HERE,
        created_at_ms=created_at_ms,
        disconnected_at_ms=0 if epoch else 9,
    )
    return WatchedChange(
        kind=ChangeKind.ROW,
        family=SESSIONS,
        key=keys.pack("acme", client_id),
        value=row.SerializeToString(),
    )


def subscription(client_id: str, topic_filter: str, qos: int = 1) -> WatchedChange:
    return WatchedChange(
        kind=ChangeKind.ROW,
        family=SUBSCRIPTIONS,
        key=keys.pack("acme", client_id, topic_filter),
        value=Subscription(qos=qos).SerializeToString(),
    )


def gone(change: WatchedChange) -> WatchedChange:
    return WatchedChange(kind=ChangeKind.DELETED, family=change.family, key=change.key)


def away_of(*changes: WatchedChange) -> Away:
    away = Away(HERE)
    away.reach({HERE, THERE})
    for each in changes:
        away.see(each)
    return away


def waiting(away: Away, topic: str = "a/b", qos: int = 1) -> list[str]:
    return [client_id for client_id, _, _ in away.match(Message(topic, b"", qos))]


def test_messages_wait_for_those_that_nobody_serves() -> None:
    away = away_of(
        session("away"),
        session("here", HERE),
        session("there", THERE),
        session("lost", 9),
        *(subscription(each, "a/#") for each in ("away", "here", "there", "lost")),
        LISTED,
    )

    assert sorted(waiting(away)) == ["away", "lost"]
    assert waiting(away, "b") == []
    assert len(away) == 2


def test_the_clients_of_a_broker_out_of_reach_are_away_until_it_is_back() -> None:
    away = away_of(session("there", THERE), subscription("there", "a/+"), LISTED)

    away.reach({HERE})
    assert waiting(away) == ["there"]

    away.see(session("there", HERE))
    assert waiting(away) == []

    away.see(session("there", THERE))
    away.reach({HERE, THERE})
    assert waiting(away) == []


@pytest.mark.parametrize("first", [session("away"), subscription("away", "a/#")])
def test_rows_may_come_in_any_order(first: WatchedChange) -> None:
    away = away_of(first, session("away"), subscription("away", "a/#"), LISTED)

    assert waiting(away) == ["away"]


def test_nothing_waits_with_quality_0() -> None:
    away = away_of(session("away"), subscription("away", "a/#", qos=0), LISTED)

    assert waiting(away, qos=2) == []


def test_shared_messages_wait_for_nobody() -> None:
    away = away_of(session("away"), subscription("away", "$share/crew/a/#"), LISTED)

    assert waiting(away) == []


def test_what_is_deleted_counts_no_more() -> None:
    one, two = subscription("away", "a/#"), subscription("away", "a/b")
    away = away_of(session("away"), one, two, LISTED)

    away.see(gone(one))
    assert waiting(away) == ["away"]
    away.see(gone(two))
    assert waiting(away) == []

    away.see(one)
    away.see(gone(session("away")))
    assert waiting(away) == []
    assert len(away) == 0


def test_a_new_session_has_no_subscriptions_of_the_one_before() -> None:
    away = away_of(session("away"), subscription("away", "a/#"), LISTED)

    away.see(session("away", created_at_ms=6))
    assert waiting(away) == []

    away.see(subscription("away", "a/#"))
    [(_, created_at_ms, _)] = away.match(Message("a/b", b"", 1))
    assert created_at_ms == 6


def test_what_was_missed_is_forgotten() -> None:
    away = away_of(
        session("one"),
        subscription("one", "a/#"),
        session("two"),
        subscription("two", "a/#"),
        subscription("two", "a/b"),
        LISTED,
    )

    for each in (RESYNC, session("two"), subscription("two", "b"), LISTED):
        away.see(each)

    assert waiting(away) == []
    assert waiting(away, "b") == ["two"]
