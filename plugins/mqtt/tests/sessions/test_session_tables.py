"""Sessions as rows of a table: what is loaded is read again, and what is wrong is named."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from quorate.plugin import Invalid
from quorate.testing import MemoryTxn
from quorate_mqtt.sessions import tables
from quorate_mqtt.sessions.apply import delete_sessions, import_sessions
from quorate_mqtt.sessions.ending import NEVER
from quorate_mqtt.sessions.families import SESSIONS
from quorate_mqtt.v1.sessions_pb2 import (
    ConnectSession,
    DeleteSessions,
    ImportSessions,
    SessionConnect,
)

from plugins.mqtt.tests.sessions.single import connect_session

FULL = ("acme", "ada", NEVER, b"\xff")
SHORT = ("acme", "ben", 1, None)
Shard = Callable[..., MemoryTxn]


def stored(txn: MemoryTxn) -> list[tuple[object, ...]]:
    return [tables.from_row(key, value) for key, value in txn.rows(SESSIONS).items()]


def test_sessions_are_what_was_written(shard: Shard) -> None:
    txn = shard()
    sessions = [tables.to_item(*row) for row in (FULL, SHORT)]

    for _ in range(2):
        assert not import_sessions(txn, ImportSessions(sessions=sessions)).refusals
        assert stored(txn) == [FULL, SHORT]


def test_a_session_that_somebody_serves_is_read_and_not_replaced(
    shard: Shard, client: Callable[..., SessionConnect]
) -> None:
    txn = shard()
    arrival = client("ada", expiry=9)
    connect_session(txn, ConnectSession(broker="north", broker_epoch=1, connection=arrival))

    reply = import_sessions(txn, ImportSessions(sessions=[tables.to_item(*FULL)]))

    assert [each.code for each in reply.refusals] == ["ALREADY_CONNECTED"]
    assert stored(txn) == [("acme", "ada", 9, None)]


def test_what_was_inserted_is_taken_back(shard: Shard) -> None:
    txn = shard()
    import_sessions(txn, ImportSessions(sessions=[tables.to_insert(*FULL)]))
    [key] = txn.rows(SESSIONS)
    again = import_sessions(txn, ImportSessions(sessions=[tables.to_insert(*FULL)]))
    others = delete_sessions(
        txn, DeleteSessions(sessions=[tables.to_removal(key, txn.revision - 1)])
    )

    assert [each.code for each in again.refusals] == ["ALREADY_EXISTS"]
    assert [each.code for each in others.refusals] == ["REVISION_MISMATCH"]
    assert stored(txn) == [FULL]

    delete_sessions(txn, DeleteSessions(sessions=[tables.to_removal(key, txn.revision)]))
    assert stored(txn) == []


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("tenant", ""),
        ("client_id", "a\x00b"),
        ("expiry_interval_s", 0),
        ("expiry_interval_s", -1),
        ("expiry_interval_s", NEVER + 1),
        ("payload", bytes(64 * 1024 + 1)),
    ],
)
def test_a_row_that_cannot_be_right_names_its_column(column: str, value: object) -> None:
    names = [each.name for each in tables.TABLE.columns]
    row = dict(zip(names, FULL, strict=True)) | {column: value}
    with pytest.raises(Invalid) as refused:
        tables.to_item(*row.values())

    assert refused.value.field == column


def test_keys_begin_with_what_is_named() -> None:
    key = tables.TABLE.to_key("acme", "ada")

    assert key.startswith(tables.TABLE.to_key("acme"))
