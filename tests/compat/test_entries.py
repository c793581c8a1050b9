"""Entries, event rows and sessions are these bytes: what reads differently is another state."""

import json
from pathlib import Path

import pytest
from quorate.apply import effects, sessions
from quorate.apply.effects import EffectsError, Head
from quorate.apply.entries import LoggedCommand, Stamp
from quorate.apply.layers import Layer, Table
from quorate.apply.outcomes import Outcome, Refusal
from quorate.apply.slot_set import SlotSet
from quorate.apply.txn import NOTHING
from quorate.storage import events
from quorate.storage.events import EventRow, Kind

GOLDEN: dict[str, str] = json.loads((Path(__file__).parent / "golden" / "apply.json").read_text())

HEADS = {
    "empty": Head(0, 0, 0, 0, 0),
    "full": Head(2**41, 3, 2**40, 2**32 - 1, 2),
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
    sessions.open_session(layer, 2**42, b"own", 0, 2**41, "ada")
    for sequence, outcome in enumerate(OUTCOMES.values()):
        sessions.record(layer, COMMAND, Stamp(2**40, sequence, 0), outcome)
        sessions.record(layer, COMMAND, Stamp(2**41, sequence, 0), outcome)
    return {
        f"{family} {key.hex()}": (value or b"").hex()
        for family, table in layer.tables.items()
        for key, value in table.rows.items()
    }


def effects_of(name: str) -> tuple[EventRow, dict[str, Table]]:
    happened, tables = EventRow(), {}
    if name == "full":
        happened.begin("mqtt.topics", Kind.PUT)
        happened.parts.extend([b"k", (2**40).to_bytes(8) + b"v"])
        tables = {"core.sequences": Table(), "mqtt.ids": Table()}
        tables["core.sequences"].rows = {b"a": bytes(range(256)), b"b": None, b"": b""}
        tables["mqtt.ids"].delete_range(b"a", b"z")
        tables["mqtt.ids"].rows = {b"k": b"v"}
    return happened, tables


@pytest.mark.parametrize("name", HEADS)
def test_entries(name: str) -> None:
    stored = bytes.fromhex(GOLDEN[f"entry: {name}"])
    happened, tables = effects_of(name)
    read = effects.decode(stored)

    assert effects.encode(HEADS[name], happened, tables.items()) == stored
    assert read.head == HEADS[name]
    assert read.events == (happened.encode(2**41) if happened.parts else b"")
    assert {family: (table.ranges, table.rows) for family, table in read.tables.items()} == {
        family: (table.ranges, table.rows) for family, table in tables.items()
    }


@pytest.mark.parametrize("name", ["empty", "full"])
def test_entries_of_commands_are_refused_with_what_to_do(name: str) -> None:
    """The log of versions before 0.2: nothing of it is stored."""
    with pytest.raises(EffectsError, match=r"as versions before 0\.2 logged them"):
        effects.decode(bytes.fromhex(GOLDEN[f"entry of commands: {name}"]))


def test_event_rows() -> None:
    stored = GOLDEN["event row"]

    assert event_row().hex() == stored
    assert len(list(events.decode(bytes.fromhex(stored)))) == 5
    assert GOLDEN["event keys"] == " ".join(
        key.hex() for key in (events.event_key(2**40), events.LOW_KEY, events.time_key(2**40))
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
