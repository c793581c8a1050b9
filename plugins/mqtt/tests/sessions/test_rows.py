from itertools import cycle, islice
from typing import Any

import pytest
from quorate.plugin import keys
from quorate.plugin.resource.binding import bind
from quorate.plugin.resource.handlers import shown
from quorate_mqtt.sessions.resource import SESSION
from quorate_mqtt.sessions.rows import (
    PLAIN,
    ImportedRows,
    RowsOfBroker,
    is_left,
    kept_of,
    seen_in,
    updated_row,
)
from quorate_mqtt.shards import client_shards
from quorate_mqtt.v1.sessions_pb2 import KeyedSession, Session, SessionConnect


def is_plain(row: bytes) -> bool:
    return bool(seen_in(row)[4] == PLAIN)


def connected(payload: bytes, broker: str = "north", *, has_will: bool = False) -> bytes:
    arrival = SessionConnect(connection_id=9, expiry_interval_s=60, payload=payload)
    return RowsOfBroker(broker, 3, 2_000).row(7, 1_000, arrival, has_will=has_will)


def session(**more: object) -> Session:
    return Session(
        generation=7,
        broker_epoch=3,
        created_at_ms=1_000,
        connected_at_ms=2_000,
        connection_id=9,
        expiry_interval_s=60,
        broker="north",
        **more,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("payload", [b"", b"x", b"y" * 127, b"z" * 128, b"w" * 20_000])
@pytest.mark.parametrize("has_will", [False, True])
def test_a_row_is_what_its_message_serializes_to(payload: bytes, has_will: bool) -> None:
    row = connected(payload, has_will=has_will)

    assert row == session(payload=payload, has_will=has_will).SerializeToString(deterministic=True)
    assert kept_of(row) == (7, 3, 1_000)
    assert seen_in(row)[:4] == (7, 3, 1_000, 60)
    assert is_plain(row) is not has_will


def test_a_row_of_nothing_but_zeros_is_the_same_too() -> None:
    message = Session(
        generation=1,
        broker_epoch=1,
        created_at_ms=0,
        connected_at_ms=0,
        connection_id=0,
        expiry_interval_s=0,
        broker="b",
    )

    row = RowsOfBroker("b", 1, 0).row(1, 0, SessionConnect(), has_will=False)

    assert row == message.SerializeToString(deterministic=True)


@pytest.mark.parametrize("payload", [b"", b"x", b"z" * 128, b"w" * 20_000])
def test_an_imported_row_is_what_its_message_serializes_to(payload: bytes) -> None:
    message = Session(
        generation=7,
        broker_epoch=0,
        created_at_ms=2_000,
        connected_at_ms=0,
        connection_id=0,
        expiry_interval_s=60,
        disconnected_at_ms=2_000,
        payload=payload,
    )

    row = ImportedRows(7, 2_000).start(60, len(payload)) + payload

    assert row == message.SerializeToString(deterministic=True)
    assert Session.FromString(row).SerializeToString(deterministic=True) == row
    assert (kept_of(row), is_plain(row)) == ((7, 0, 2_000), False)


@pytest.mark.parametrize(
    ("more", "left"),
    [
        ({"disconnected_at_ms": 1 << 35}, True),
        ({"disconnected_at_ms": (1 << 42) - 1, "payload": b"kept"}, True),
        ({"disconnected_at_ms": (1 << 35) - 1}, False),
        ({"disconnected_at_ms": 1 << 42}, False),
        ({"disconnected_at_ms": 1 << 41, "has_will": True}, False),
        ({"payload": b"\x38" * 99}, False),
    ],
)
def test_a_client_that_left_is_seen_unless_it_has_a_will(more: dict[str, Any], left: bool) -> None:
    assert is_left(session(**more).SerializeToString(deterministic=True)) is left


@pytest.mark.parametrize(
    ("expiry", "payload"), [(None, b"new"), (5, None), (5, b"new"), (None, b""), (None, None)]
)
def test_an_update_without_decoding_is_one_with_it(
    expiry: int | None, payload: bytes | None
) -> None:
    old = session(payload=b"old" * 100)
    expected = Session.FromString(old.SerializeToString())
    if expiry is not None:
        expected.expiry_interval_s = expiry
    if payload is not None:
        expected.payload = payload

    row = updated_row(old.SerializeToString(deterministic=True), expiry, payload)

    assert row == expected.SerializeToString(deterministic=True)


@pytest.mark.parametrize(
    "row",
    [
        session(has_will=True),
        session(disconnected_at_ms=5),
    ],
)
def test_what_is_not_plain_must_be_decoded(row: Session) -> None:
    assert updated_row(row.SerializeToString(deterministic=True), 5, b"") is None


def test_a_long_name_of_a_broker_must_be_decoded() -> None:
    row = connected(b"x", "n" * 128)

    assert is_plain(row)
    assert updated_row(row, 5, b"") is None


def test_rows_of_equally_long_payloads_are_not_mixed_up() -> None:
    rows = RowsOfBroker("north", 3, 2_000)
    arrivals = [SessionConnect(payload=payload) for payload in (b"a", b"b", b"", b"a")]

    made = [rows.row(7, 1_000, arrival, has_will=False) for arrival in arrivals]

    assert [Session.FromString(row).payload for row in made] == [b"a", b"b", b"", b"a"]


@pytest.mark.parametrize("client_id", ["ada", "日本", "a\x00b", "\x02", "", "x" * 200])
@pytest.mark.parametrize("tenant", ["acme", "a\x00", ""])
def test_an_answer_has_the_parts_of_the_key_whatever_they_hold(tenant: str, client_id: str) -> None:
    row = connected(b"kept")

    answer = shown(bind(SESSION))(keys.pack(tenant, client_id), row, 9)

    expected = KeyedSession.FromString(row)
    expected.tenant, expected.client_id, expected.revision = tenant, client_id, 9
    assert KeyedSession.FromString(answer) == expected


@pytest.mark.parametrize("client_ids", [[], ["ada"], ["ada", "日本", "x" * 200], ["a\x00", "b\nc"]])
@pytest.mark.parametrize("tenants", [["acme"], ["a\x00"], ["a\nb"], ["acme", "other", "a\x00"]])
def test_keys_of_many_clients_are_those_of_each(tenants: list[str], client_ids: list[str]) -> None:
    of = list(islice(cycle(tenants), len(client_ids)))

    assert client_shards(of, client_ids) == list(map(keys.pack, of, client_ids))
