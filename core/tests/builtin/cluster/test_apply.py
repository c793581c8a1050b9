from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st
from quorate.builtin.cluster.apply import (
    DEFAULT_TTL_MS,
    expire,
    register,
    take_heartbeat,
    unregister,
)
from quorate.builtin.cluster.families import BROKERS, LIVENESS
from quorate.plugin import Rejected, RowEvent, keys
from quorate.plugin.advanced import answer_each
from quorate.testing import MemoryTxn
from quorate.v1.cluster_pb2 import (
    Broker,
    ExpireBrokers,
    RegisterBroker,
    SendHeartbeat,
    UnregisterBroker,
)

ADA = RegisterBroker(
    name="ada",
    cluster_name="north",
    roles=["mqtt"],
    labels={"zone": "a"},
    addresses={"mqtt": "127.0.0.1:1883"},
    ttl_ms=500,
)


def names(txn: MemoryTxn) -> list[str]:
    return [Broker.FromString(row).name for row in txn.rows(BROKERS).values()]


def test_a_registration_stores_what_it_says_and_a_deadline(txn: MemoryTxn) -> None:
    broker = register(txn, ADA)

    assert broker == Broker(
        name="ada",
        cluster_name="north",
        roles=["mqtt"],
        labels={"zone": "a"},
        addresses={"mqtt": "127.0.0.1:1883"},
        epoch=1,
        ttl_ms=500,
        registered_at_ms=1_000,
    )
    assert Broker.FromString(txn.rows(BROKERS)[keys.pack("ada")]) == broker
    assert txn.deadlines == {(LIVENESS, keys.pack("ada", 1)): 1_500}


def test_who_names_no_ttl_lives_for_ten_seconds(txn: MemoryTxn) -> None:
    broker = register(txn, RegisterBroker(name="ada", cluster_name="north"))

    assert broker.ttl_ms == DEFAULT_TTL_MS == 10_000
    assert list(txn.deadlines.values()) == [11_000]


def test_a_later_registration_of_any_broker_has_a_larger_epoch(txn: MemoryTxn) -> None:
    order = ["ada", "ben", "ada", "cleo", "ben"]

    epochs = [register(txn, RegisterBroker(name=name)).epoch for name in order]

    assert epochs == sorted(set(epochs))


def test_a_registration_replaces_row_and_deadline_of_the_former(txn: MemoryTxn) -> None:
    register(txn, ADA)
    later = txn.then(at_ms=1_200)

    broker = register(later, RegisterBroker(name="ada", cluster_name="south", ttl_ms=700))

    assert broker == Broker(
        name="ada", cluster_name="south", epoch=2, ttl_ms=700, registered_at_ms=1_200
    )
    assert later.deadlines == {(LIVENESS, keys.pack("ada", 2)): 1_900}


def test_the_former_process_is_fenced(txn: MemoryTxn) -> None:
    old = register(txn, ADA)
    new = register(txn, ADA)
    before = txn.rows(BROKERS), dict(txn.deadlines)

    with pytest.raises(Rejected) as heartbeat:
        take_heartbeat(txn, SendHeartbeat(name="ada", epoch=old.epoch))
    with pytest.raises(Rejected) as leave:
        unregister(txn, UnregisterBroker(name="ada", epoch=old.epoch))

    assert (heartbeat.value.code, leave.value.code) == ("FENCED", "FENCED")
    assert f"registered with epoch {new.epoch}" in heartbeat.value.message
    assert (txn.rows(BROKERS), txn.deadlines) == before


def test_an_epoch_that_was_never_given_is_fenced_too(txn: MemoryTxn) -> None:
    register(txn, ADA)

    with pytest.raises(Rejected, match="FENCED"):
        take_heartbeat(txn, SendHeartbeat(name="ada", epoch=7))


def test_a_heartbeat_moves_the_deadline_and_nothing_else(txn: MemoryTxn) -> None:
    register(txn, ADA)
    later = txn.then(at_ms=1_300)
    rows = later.rows(BROKERS)

    take_heartbeat(later, SendHeartbeat(name="ada", epoch=1))

    assert later.deadlines == {(LIVENESS, keys.pack("ada", 1)): 1_800}
    assert later.rows(BROKERS) == rows
    assert later.events == []


def test_who_is_not_registered_is_told_to_register(txn: MemoryTxn) -> None:
    with pytest.raises(Rejected) as refusal:
        take_heartbeat(txn, SendHeartbeat(name="ada", epoch=1))
    with pytest.raises(Rejected, match="NOT_FOUND"):
        unregister(txn, UnregisterBroker(name="ada", epoch=1))

    assert refusal.value.code == "NOT_FOUND"
    assert refusal.value.message == "broker ada is not registered; register it again"
    assert (txn.deadlines, txn.events) == ({}, [])


def test_who_has_left_already_is_no_failure_if_that_is_asked_for(txn: MemoryTxn) -> None:
    unregister(txn, UnregisterBroker(name="ada", epoch=1, missing_ok=True))
    register(txn, ADA)

    # It is there, under another registration.
    with pytest.raises(Rejected, match="FENCED"):
        unregister(txn, UnregisterBroker(name="ada", epoch=7, missing_ok=True))


def test_who_unregisters_leaves_nothing(txn: MemoryTxn) -> None:
    register(txn, ADA)
    later = txn.then(at_ms=1_100)

    unregister(later, UnregisterBroker(name="ada", epoch=1))

    assert (later.rows(BROKERS), later.deadlines) == ({}, {})
    assert later.events == [RowEvent(family=BROKERS, key=keys.pack("ada"), value=None)]


def test_a_batch_registers_in_the_order_of_the_request(txn: MemoryTxn) -> None:
    reply = answer_each(txn, [RegisterBroker(name="ben"), ADA], register)

    answered = [Broker.FromString(each) for each in reply.replies]
    assert (reply.items, list(reply.refusals)) == (2, [])
    assert [(broker.name, broker.epoch) for broker in answered] == [("ben", 1), ("ada", 2)]
    assert names(txn) == ["ada", "ben"]


def test_a_wrong_item_does_not_keep_others_from_their_heartbeats(txn: MemoryTxn) -> None:
    for name in ("ada", "ben", "ada"):
        register(txn, RegisterBroker(name=name, ttl_ms=500))
    later = txn.then(at_ms=1_100)
    beats = [("ada", 1), ("cleo", 9), ("ben", 2), ("ada", 3)]

    heartbeats = [SendHeartbeat(name=name, epoch=epoch) for name, epoch in beats]
    reply = answer_each(later, heartbeats, take_heartbeat)

    assert reply.items == 4
    assert [(each.item, each.code) for each in reply.refusals] == [(0, "FENCED"), (1, "NOT_FOUND")]
    assert set(later.deadlines.values()) == {1_600}


def test_a_wrong_item_does_not_keep_others_from_leaving(txn: MemoryTxn) -> None:
    for name in ("ada", "ben", "cleo"):
        register(txn, RegisterBroker(name=name))
    leaves = [("ada", 1), ("ben", 1), ("cleo", 3)]

    leaving = [UnregisterBroker(name=name, epoch=epoch) for name, epoch in leaves]
    reply = answer_each(txn, leaving, unregister)

    assert (reply.items, len(reply.replies)) == (3, 3)
    assert [(each.item, each.code) for each in reply.refusals] == [(1, "FENCED")]
    assert names(txn) == ["ben"]


def test_brokers_expire_only_when_their_deadline_has_come(txn: MemoryTxn) -> None:
    register(txn, ADA)
    register(txn, RegisterBroker(name="ben", ttl_ms=501))
    due = txn.then(at_ms=1_500)
    asked = [keys.pack("ada", 1), keys.pack("ben", 2), keys.pack("cleo", 3), b"no key"]

    reply = expire(due, ExpireBrokers(keys=asked))

    assert (reply.items, list(reply.refusals)) == (4, [])
    assert names(due) == ["ben"]
    assert due.deadlines == {(LIVENESS, keys.pack("ben", 2)): 1_501}


def test_a_late_expiry_does_nothing_after_a_heartbeat(txn: MemoryTxn) -> None:
    register(txn, ADA)
    late = txn.then(at_ms=1_500)
    take_heartbeat(late, SendHeartbeat(name="ada", epoch=1))

    expire(late, ExpireBrokers(keys=[keys.pack("ada", 1)]))

    assert names(late) == ["ada"]
    assert late.deadlines == {(LIVENESS, keys.pack("ada", 1)): 2_000}


def test_a_late_expiry_of_a_former_registration_does_nothing(txn: MemoryTxn) -> None:
    register(txn, ADA)
    register(txn, ADA)
    # Both deadlines have passed: it is the epoch that tells them apart.
    late = txn.then(at_ms=9_000)

    expire(late, ExpireBrokers(keys=[keys.pack("ada", 1)]))

    assert names(late) == ["ada"]
    expire(late, ExpireBrokers(keys=[keys.pack("ada", 2)]))
    assert names(late) == []


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["register", "heartbeat", "unregister", "expire"]),
        st.sampled_from(["ada", "ben"]),
        st.integers(1, 4),
        st.integers(0, 700),
    ),
    max_size=30,
)


@settings(max_examples=60)
@given(steps=STEPS)
def test_brokers_are_those_that_a_plain_model_holds_alive(
    steps: list[tuple[str, str, int, int]],
) -> None:
    txn = MemoryTxn()
    model: dict[str, tuple[int, int]] = {}
    given_epochs = 0
    for what, name, epoch, passed_ms in steps:
        txn = txn.then(txn.now_ms + passed_ms)
        now_ms = txn.now_ms
        current = model.get(name, (0, 0))[0] == epoch
        expected = "" if current else "FENCED" if name in model else "NOT_FOUND"
        try:
            if what == "register":
                register(txn, RegisterBroker(name=name, ttl_ms=500))
                given_epochs += 1
                model[name] = given_epochs, now_ms + 500
                continue
            if what == "expire":
                expire(txn, ExpireBrokers(keys=[keys.pack(name, epoch)]))
                if current and model[name][1] <= now_ms:
                    del model[name]
                continue
            if what == "heartbeat":
                take_heartbeat(txn, SendHeartbeat(name=name, epoch=epoch))
            else:
                unregister(txn, UnregisterBroker(name=name, epoch=epoch))
        except Rejected as refused:
            told = refused.code
        else:
            told = ""
            if what == "heartbeat":
                model[name] = epoch, now_ms + 500
            else:
                del model[name]
        assert told == expected

    rows = [Broker.FromString(row) for row in txn.rows(BROKERS).values()]
    assert {broker.name: broker.epoch for broker in rows} == {
        name: epoch for name, (epoch, _) in model.items()
    }
    assert txn.deadlines == {
        (LIVENESS, keys.pack(name, epoch)): until for name, (epoch, until) in model.items()
    }
