"""A shard's data on disk is found by these bytes, and they say where in the log it stands."""

import json
from pathlib import Path

import pytest
from quorate.consensus.journal import Position
from quorate.storage import families
from quorate.storage.data.record import EMPTY, KEY, AppliedRecord, Pointer

GOLDEN: dict[str, str] = json.loads(
    (Path(__file__).parent / "golden" / "data_formats.json").read_text()
)

RECORDS = {
    "empty": EMPTY,
    "full": AppliedRecord(
        Position(2**40 + 3, 2**33), 2**40, bytes(range(256)), -(2**41), 2**63 + 1, 2**31
    ),
}
POINTERS = {
    "founded": Pointer(1, None),
    "installed": Pointer(2**33, Position(2**40 + 3, 2**34)),
}


@pytest.mark.parametrize("name", RECORDS)
def test_applied_records(name: str) -> None:
    stored = GOLDEN[f"applied record: {name}"]

    assert RECORDS[name].encode().hex() == stored
    assert AppliedRecord.decode(bytes.fromhex(stored)) == RECORDS[name]


@pytest.mark.parametrize("name", POINTERS)
def test_pointers(name: str) -> None:
    stored = GOLDEN[f"pointer: {name}"]

    assert POINTERS[name].encode().hex() == stored
    assert Pointer.decode(bytes.fromhex(stored)) == POINTERS[name]


def test_names() -> None:
    assert GOLDEN["families"] == " ".join(families.SYSTEM)
    assert GOLDEN["key of the applied record"] == KEY.decode()
