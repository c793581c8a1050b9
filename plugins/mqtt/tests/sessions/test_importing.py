"""Sessions that come from elsewhere: nobody serves them, and their time begins with the import."""

from __future__ import annotations

from asyncio import run
from collections.abc import Callable
from typing import Any

import pytest
from quorate.plugin import Rejected
from quorate.testing import MemoryNode, MemoryTxn
from quorate_mqtt.session_quota.quota import COUNTS
from quorate_mqtt.sessions.apply import expire_sessions, import_sessions
from quorate_mqtt.sessions.families import CONNECTIONS, EXPIRY, SESSIONS, SUBSCRIPTIONS, WILLS
from quorate_mqtt.sessions.resource import SESSION
from quorate_mqtt.sessions.validation import NEVER
from quorate_mqtt.shards import client_shard
from quorate_mqtt.subscriptions.resource import set_subscription
from quorate_mqtt.v1.sessions_pb2 import (
    ConnectReply,
    ConnectSession,
    DeleteSession,
    DisconnectSession,
    ExpireSessions,
    GetSessionRequest,
    ImportSession,
    ImportSessions,
    Session,
    SessionConnect,
    UpdateSession,
)
from quorate_mqtt.v1.subscriptions_pb2 import SetSubscription

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


def imported(client_id: str = "ada", *, expiry: int = 60, **more: Any) -> ImportSession:
    wanted: dict[str, Any] = {"tenant": "acme", "expiry_interval_s": expiry, **more}
    return ImportSession(client_id=client_id, **wanted)


def connect(txn: MemoryTxn, arrival: SessionConnect) -> ConnectReply:
    return connect_session(txn, ConnectSession(broker="north", broker_epoch=1, connection=arrival))


def session(txn: MemoryTxn) -> Session:
    return Session.FromString(txn.rows(SESSIONS)[ADA])


def refusal(call: Callable[[], object]) -> str:
    with pytest.raises(Rejected) as refused:
        call()
    return refused.value.code


def test_an_import_begins_a_session_that_nobody_serves(shard: Shard) -> None:
    txn = shard()

    import_session(txn, imported(payload=b"kept"))

    assert session(txn) == Session(
        generation=txn.revision,
        broker_epoch=0,
        created_at_ms=1_000,
        connected_at_ms=0,
        connection_id=0,
        expiry_interval_s=60,
        disconnected_at_ms=1_000,
        payload=b"kept",
    )
    assert txn.deadlines == {(EXPIRY, ADA): 61_000}
    assert txn.rows(CONNECTIONS) == {}
    assert [int.from_bytes(each) for each in txn.rows(COUNTS).values()] == [1]


def test_a_session_that_never_expires_has_no_deadline(shard: Shard) -> None:
    txn = shard()

    import_session(txn, imported(expiry=60))
    import_session(txn, imported(expiry=NEVER))

    assert txn.deadlines == {}


def test_an_imported_session_goes_on_when_its_client_connects(shard: Shard, client: Client) -> None:
    txn = shard()
    import_session(txn, imported(payload=b"kept"))
    set_subscription(txn, SetSubscription(tenant="acme", client_id="ada", filter="a"))

    reply = connect(txn, client())

    assert reply == ConnectReply(generation=txn.revision + 1, session_present=True)
    assert (session(txn).broker, session(txn).created_at_ms) == ("north", 1_000)
    assert len(txn.rows(SUBSCRIPTIONS)) == 1
    assert txn.deadlines == {}


def test_an_imported_session_ends_with_its_time(shard: Shard) -> None:
    txn = shard()
    import_session(txn, imported())
    later = shard(at_ms=61_000, rows={name: txn.rows(name) for name in (SESSIONS, COUNTS)})
    later.schedule(EXPIRY, ADA, 61_000)

    expire_sessions(later, ExpireSessions(keys=[ADA]))

    assert later.rows(SESSIONS) == {}


def test_an_imported_session_can_be_changed_and_has_a_row_that_connects(
    shard: Shard, client: Client
) -> None:
    txn = shard()
    import_session(txn, imported())
    generation = session(txn).generation

    update_session(
        txn,
        UpdateSession(tenant="acme", client_id="ada", generation=generation, payload=b"new"),
    )

    assert session(txn).payload == b"new"
    assert connect(txn, client()).generation == generation + 1


def test_an_import_replaces_what_a_session_without_a_connection_holds(
    shard: Shard, client: Client
) -> None:
    txn = shard()
    generation = connect(txn, client(will=30, expiry=10, payload=b"old")).generation
    disconnect_session(
        txn, DisconnectSession(tenant="acme", client_id="ada", generation=generation)
    )
    set_subscription(txn, SetSubscription(tenant="acme", client_id="ada", filter="a"))

    import_session(txn, imported(expiry=3_600, payload=b"new"))

    found = session(txn)
    assert (found.generation, found.broker, found.has_will) == (generation, "north", True)
    assert (found.expiry_interval_s, found.payload) == (3_600, b"new")
    assert txn.deadlines[EXPIRY, ADA] == 3_601_000
    assert (len(txn.rows(WILLS)), len(txn.rows(SUBSCRIPTIONS))) == (1, 1)


def test_the_time_of_a_session_runs_from_its_last_import(shard: Shard) -> None:
    txn = shard()
    import_session(txn, imported())
    later = shard(at_ms=5_000, rows={SESSIONS: txn.rows(SESSIONS)})

    import_session(later, imported())

    assert session(later).disconnected_at_ms == 5_000
    assert session(later).created_at_ms == 1_000
    assert later.deadlines == {(EXPIRY, ADA): 65_000}


def test_what_is_imported_again_changes_nothing(shard: Shard) -> None:
    txn = shard()
    import_session(txn, imported(payload=b"kept"))
    before = {family: txn.rows(family) for family in (SESSIONS, COUNTS)}

    import_session(txn, imported(payload=b"kept"))

    assert {family: txn.rows(family) for family in before} == before
    assert txn.deadlines == {(EXPIRY, ADA): 61_000}


def test_a_session_that_somebody_serves_stays_as_it_is(shard: Shard, client: Client) -> None:
    txn = shard()
    connect(txn, client(payload=b"live"))
    before = txn.rows(SESSIONS)

    assert refusal(lambda: import_session(txn, imported())) == "ALREADY_CONNECTED"

    assert txn.rows(SESSIONS) == before
    assert txn.deadlines == {}


def test_a_session_that_is_to_be_new_is_refused_where_there_is_one(
    shard: Shard, client: Client
) -> None:
    txn = shard()
    import_session(txn, imported(new_only=True))
    connect(txn, client("ben"))

    reply = import_sessions(
        txn, ImportSessions(sessions=[imported(name, new_only=True) for name in ("ada", "ben")])
    )

    assert [each.code for each in reply.refusals] == ["ALREADY_EXISTS"] * 2


def test_a_tenant_that_is_not_there_has_no_session_imported(shard: Shard) -> None:
    assert refusal(lambda: import_session(shard(), imported(tenant="globex"))) == "NOT_FOUND"


def test_the_limit_of_the_tenant_holds_for_new_sessions_alone(shard: Shard) -> None:
    txn = shard(limits={"mqtt.sessions": 2})
    import_session(txn, imported("ada"))
    again = [imported(name) for name in ("ada", "ben", "cem", "dan")]

    reply = import_sessions(txn, ImportSessions(sessions=again))

    assert [(each.item, each.code) for each in reply.refusals] == [
        (2, "LIMIT_REACHED"),
        (3, "LIMIT_REACHED"),
    ]
    assert len(txn.rows(SESSIONS)) == 2
    assert refusal(lambda: import_session(txn, imported("eve"))) == "LIMIT_REACHED"


def test_only_the_session_that_was_written_at_a_revision_is_taken_back(shard: Shard) -> None:
    txn = shard()
    import_session(txn, imported())
    wrong = DeleteSession(tenant="acme", client_id="ada", expected_revision=txn.revision + 1)

    assert refusal(lambda: delete_session(txn, wrong)) == "REVISION_MISMATCH"
    assert len(txn.rows(SESSIONS)) == 1

    right = DeleteSession(tenant="acme", client_id="ada", expected_revision=txn.revision)
    assert delete_session(txn, right).deleted
    assert txn.rows(SESSIONS) == {}
    assert txn.rows(COUNTS) == {}


def test_items_of_an_import_that_are_wrong_keep_no_other_back(net: Any) -> None:
    node: MemoryNode = net.node
    service: Any = node.servicer(SESSION.service.full_name)
    names = [f"c{number:02}" for number in range(20)]
    sessions = [imported(name) for name in names]
    sessions[3].expiry_interval_s = 0
    sessions[7].client_id = ""
    sessions[9].tenant = "globex"

    reply = run(service.ImportBatch(ImportSessions(sessions=sessions), None))

    refused = {each.item: each.code for each in reply.refusals}
    assert refused == {3: "INVALID_ARGUMENT", 7: "INVALID_ARGUMENT", 9: "NOT_FOUND"}
    assert "sessions[3].expiry_interval_s" in reply.refusals[0].message
    assert len(node.rows(SESSIONS)) == 17
    run(service.Import(imported("alone", payload=b"x"), None))
    found = run(service.Get(GetSessionRequest(tenant="acme", client_id="alone"), None))
    assert (found.payload, found.broker, found.broker_epoch) == (b"x", "", 0)
