"""Sessions as rows of a table: what is loaded is read again, and what is wrong is named."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from quorate.plugin import Invalid, Rejected
from quorate.testing import MemoryTxn
from quorate_mqtt.session_quota.quota import LIMIT
from quorate_mqtt.sessions import tables
from quorate_mqtt.sessions.apply import delete_sessions, import_sessions
from quorate_mqtt.sessions.families import SESSIONS
from quorate_mqtt.sessions.validation import NEVER
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


def changes(txn: MemoryTxn) -> dict[str, dict[bytes, bytes | None]]:
    return {name: dict(table.rows) for name, table in txn.layer.tables.items() if table.rows}


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


def test_sessions_from_columns_are_those_from_items(shard: Shard) -> None:
    kinds = product(("a", "é" * 3, "x" * 128), (1, 60, NEVER), (None, b"", b"p", bytes(64 * 1024)))
    rows = [("acme", f"{number}{name}"[:128], *kind) for number, (name, *kind) in enumerate(kinds)]
    columns = [list(column) for column in zip(*rows, strict=True)]
    of_items, of_columns = shard(), shard()

    clients = tables.shard_keys(*columns)
    assert clients is not None
    assert tables.make(of_columns, clients, *columns) == {"acme": len(rows)}

    items = [tables.to_item(*row) for row in rows]
    assert not import_sessions(of_items, ImportSessions(sessions=items)).refusals
    assert changes(of_columns) == changes(of_items)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("tenant", "no name"),
        ("client_id", ""),
        ("client_id", "a\0b"),
        ("client_id", "x" * 129),
        ("expiry_interval_s", 0),
        ("expiry_interval_s", NEVER + 1),
        ("payload", bytes(64 * 1024 + 1)),
    ],
)
def test_sessions_that_may_be_wrong_are_made_of_items(column: str, value: object) -> None:
    names = [each.name for each in tables.TABLE.columns]
    odd = tuple((dict(zip(names, FULL, strict=True)) | {column: value}).values())
    for rows in ((odd, SHORT), (SHORT, odd)):
        assert tables.shard_keys(*(list(each) for each in zip(*rows, strict=True))) is None


def test_sessions_for_which_there_is_no_room_are_made_of_items(shard: Shard) -> None:
    txn = shard(limits={LIMIT: 1})
    untouched = changes(txn)
    columns: list[Any] = [list(column) for column in zip(FULL, SHORT, strict=True)]
    clients = tables.shard_keys(*columns)
    assert clients is not None
    with pytest.raises(Rejected, match="LIMIT_REACHED"):
        tables.make(txn, clients, *columns)

    assert changes(txn) == untouched


def test_keys_begin_with_what_is_named() -> None:
    key = tables.TABLE.to_key("acme", "ada")

    assert key.startswith(tables.TABLE.to_key("acme"))
