"""Logs on disk are made of these bytes: an entry that reads differently is another history."""

import json
from pathlib import Path

import pytest
from quorate.consensus.journal import HardState, Position
from quorate.consensus.messages import Entry, EntryKind, Peer
from quorate.storage.log import witness
from quorate.storage.log.records import Records, SavedState

GOLDEN: dict[str, dict[str, str]] = json.loads(
    (Path(__file__).parent / "golden" / "log_records.json").read_text()
)
RECORDS = Records("metadata/0")

ENTRIES = {
    "first": Entry(1, 0, EntryKind.CONFIG, b"members"),
    "noop": Entry(2, 1, EntryKind.NOOP, b""),
    "command": Entry(2**40 + 3, 2**33, EntryKind.COMMAND, bytes(range(256))),
}
STATES = {
    "no vote": SavedState(1, HardState(7, None)),
    "vote": SavedState(2**31, HardState(2**63, Peer("node-ö", 2**64 - 2))),
}
SENTINEL = Position(2**40, 2**33)
DURABLE = witness.Durable(2**40 + 5, 2**31)


@pytest.mark.parametrize("name", ENTRIES)
def test_entries(name: str) -> None:
    key, value = (bytes.fromhex(GOLDEN[f"entry: {name}"][part]) for part in ("key", "value"))

    assert RECORDS.entry_key(ENTRIES[name].index) == key
    assert RECORDS.encode_entry(key, ENTRIES[name]) == value
    assert RECORDS.decode_entry(key, value) == ENTRIES[name]


@pytest.mark.parametrize("name", STATES)
def test_hard_states(name: str) -> None:
    stored = GOLDEN[f"hard state: {name}"]

    assert RECORDS.hard_state_key.hex() == stored["key"]
    assert RECORDS.encode_hard_state(STATES[name]).hex() == stored["value"]
    assert RECORDS.decode_hard_state(bytes.fromhex(stored["value"])) == STATES[name]


def test_sentinels() -> None:
    stored = GOLDEN["sentinel"]

    assert RECORDS.sentinel_key.hex() == stored["key"]
    assert RECORDS.encode_sentinel(SENTINEL).hex() == stored["value"]
    assert RECORDS.decode_sentinel(bytes.fromhex(stored["value"])) == SENTINEL


def test_witnesses() -> None:
    stored = GOLDEN["witness"]["value"]

    assert witness.encode(DURABLE).hex() == stored
    assert witness.decode(bytes.fromhex(stored)) == DURABLE


def test_applied_indexes() -> None:
    stored = GOLDEN["applied"]["value"]

    assert witness.encode_applied(2**40 + 3).hex() == stored
    assert witness.decode_applied(bytes.fromhex(stored)) == 2**40 + 3
