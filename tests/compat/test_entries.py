"""Entries, event rows and sessions are these bytes: what reads differently is another state."""

import json
from pathlib import Path

import pytest
from quorate.apply import sessions
from quorate.apply.entries import EntryBatch, LoggedCommand, Stamp, decode, encode
from quorate.apply.layers import Layer
from quorate.apply.outcomes import Outcome, Refusal
from quorate.apply.slot_set import SlotSet
from quorate.apply.txn import NOTHING
from quorate.storage import events
from quorate.storage.events import EventRow, Kind

GOLDEN: dict[str, str] = json.loads((Path(__file__).parent / "golden" / "apply.json").read_text())

ENTRIES = {
    "empty": EntryBatch(0, 0, 0, []),
    "full": EntryBatch(
        2**41,
        2**40,
        2**32 - 1,
        [
            LoggedCommand("quorate.v1.OpenSession", b"\x10\x01", slotless=True),
            LoggedCommand(
                "mqtt.v1.CreateTopicCommand", bytes(range(256)), [0, 1_023], Stamp(2**60, 7, 3)
            ),
        ],
    ),
}
OUTCOMES = {
    "reply": Outcome(2**40, b"reply"),
    "refusal": Outcome(2**40, refusal=Refusal("FENCED", "by ö")),
    "forgotten": Outcome(2**40, forgotten=True),
}
#: Sessions with a name know it again.
COMMAND = LoggedCommand("mqtt.v1.CreateTopicCommand", bytes(range(256)))


def event_row() -> bytes:
    row = EventRow()
    revision = (2**40).to_bytes(8)
    for family, kind, parts in (
        ("mqtt.topics", Kind.PUT, [b"k", revision + b"v"]),
        ("mqtt.topics", Kind.REPLACED, [b"k", revision + b"w", b"v"]),
        ("mqtt.topics", Kind.DELETED, [b"k", revision]),
        ("mqtt.topics", Kind.DELETED_OVER, [b"k", revision, b"w"]),
        ("mqtt.v1.LoadFinished", Kind.EMITTED, [revision + b"message"]),
    ):
        row.begin(family, kind)
        row.parts.extend(parts)
    return row.encode(2**41)


def session_rows() -> dict[str, str]:
    layer = Layer(NOTHING)
    sessions.open_session(layer, 2**40, b"", 30_000, 2**41)
    sessions.open_session(layer, 2**41, b"load", 0, 2**41)
    for sequence, outcome in enumerate(OUTCOMES.values()):
        sessions.record(layer, COMMAND, Stamp(2**40, sequence, 0), outcome)
        sessions.record(layer, COMMAND, Stamp(2**41, sequence, 0), outcome)
    return {
        f"{family} {key.hex()}": (value or b"").hex()
        for family, table in layer.tables.items()
        for key, value in table.rows.items()
    }


@pytest.mark.parametrize("name", ENTRIES)
def test_entries(name: str) -> None:
    stored = bytes.fromhex(GOLDEN[f"entry: {name}"])
    read = decode(stored)

    assert encode(ENTRIES[name]) == stored
    commands = [each._replace(slots=tuple(each.slots)) for each in read.commands]
    expected = [each._replace(slots=tuple(each.slots)) for each in ENTRIES[name].commands]
    assert read._replace(commands=commands) == ENTRIES[name]._replace(commands=expected)


def test_event_rows() -> None:
    stored = GOLDEN["event row"]

    assert event_row().hex() == stored
    assert len(list(events.decode(bytes.fromhex(stored)))) == 5
    assert GOLDEN["event keys"] == " ".join(
        key.hex() for key in (events.event_key(2**40), events.LOW_KEY, events.mark_key(2**40))
    )


def test_session_records() -> None:
    expected = {
        name.removeprefix("session: "): value
        for name, value in GOLDEN.items()
        if name.startswith("session: ")
    }

    assert session_rows() == expected
    layer = Layer(NOTHING)
    for name, value in expected.items():
        family, key = name.split()
        layer.put(family, bytes.fromhex(key), bytes.fromhex(value))
    for sequence, outcome in enumerate(OUTCOMES.values()):
        for session in (2**40, 2**41):
            stamp = Stamp(session, sequence, 0)
            assert sessions.answer_known(layer, COMMAND, stamp, 1, 2**41) == outcome


def test_slots() -> None:
    slots = SlotSet(2**40, b"\x05" + bytes(126) + b"\x80")

    assert slots.encode().hex() == GOLDEN["slots"]
    assert SlotSet.decode(bytes.fromhex(GOLDEN["slots"])).owned == {0, 2, 1_023}
