"""Subscriptions as rows of a table: what is loaded is read again, and what is wrong is named."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from quorate.plugin import Invalid, keys
from quorate.testing import MemoryTxn
from quorate_mqtt.sessions.families import SUBSCRIPTIONS
from quorate_mqtt.subscriptions import resource
from quorate_mqtt.v1.sessions_pb2 import ConnectSession, SessionConnect
from quorate_mqtt.v1.subscriptions_pb2 import SetSubscriptions

from plugins.mqtt.tests.sessions.single import carry_out, connect_session

FULL = ("acme", "ada", "a/+/b", 2, True, True, "NEVER", 9, b"\xff")
SHORT = ("acme", "ada", "b/#", 0, None, None, None, None, None)
COMPLETED = (*SHORT[:4], False, False, *SHORT[6:])


@pytest.fixture
def txn(shard: Callable[..., MemoryTxn], client: Callable[..., SessionConnect]) -> MemoryTxn:
    txn = shard()
    connect_session(txn, ConnectSession(broker="north", broker_epoch=1, connection=client("ada")))
    return txn


def stored(txn: MemoryTxn) -> list[tuple[object, ...]]:
    return [resource.from_row(key, value) for key, value in txn.rows(SUBSCRIPTIONS).items()]


def test_subscriptions_are_what_was_written(txn: MemoryTxn) -> None:
    items = [resource.to_item(*row) for row in (FULL, SHORT)]
    reply = carry_out(txn, SetSubscriptions(subscriptions=items))

    assert not reply.refusals
    assert stored(txn) == [FULL, COMPLETED]
    again = [resource.to_item(*row) for row in (FULL, COMPLETED)]
    carry_out(txn, SetSubscriptions(subscriptions=again))
    assert stored(txn) == [FULL, COMPLETED]


def test_a_client_without_a_session_is_refused(txn: MemoryTxn) -> None:
    nobody = resource.to_item("acme", "nobody", *FULL[2:])
    items = [nobody, resource.to_item(*FULL)]
    reply = carry_out(txn, SetSubscriptions(subscriptions=items))

    assert [(each.item, each.code) for each in reply.refusals] == [(0, "NOT_FOUND")]
    assert stored(txn) == [FULL]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("tenant", ""),
        ("client_id", ""),
        ("filter", "a/#/b"),
        ("qos", 3),
        ("qos", -1),
        ("retain_handling", "SOMETIMES"),
        ("identifier", -1),
        ("identifier", 268_435_456),
        ("properties", bytes(16 * 1024 + 1)),
    ],
)
def test_a_row_that_cannot_be_right_names_its_column(column: str, value: object) -> None:
    names = [each.name for each in resource.TABLE.columns]
    row = dict(zip(names, FULL, strict=True)) | {column: value}
    with pytest.raises(Invalid) as refused:
        resource.to_item(*row.values())

    assert refused.value.field == column


def test_keys_begin_with_what_is_named() -> None:
    key = resource.TABLE.to_key("acme", "ada", "a/+/b")

    assert key == keys.pack("acme", "ada", "a/+/b")
    assert key.startswith(resource.TABLE.to_key("acme", "ada"))
