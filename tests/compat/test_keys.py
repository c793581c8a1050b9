"""Rows on disk are found by these bytes: a key codec that gives others has lost them."""

import json
from pathlib import Path

import pytest
from quorate.plugin import keys
from quorate.plugin.keys import Part

GOLDEN = Path(__file__).parent / "golden" / "keys.json"


def decoded(part: dict[str, str | int]) -> Part:
    """Return a part; bytes stand in the file as hexadecimal digits."""
    [(kind, value)] = part.items()
    return bytes.fromhex(str(value)) if kind == "bytes" else value


CASES = [
    (tuple(decoded(part) for part in case["parts"]), bytes.fromhex(case["key"]))
    for case in json.loads(GOLDEN.read_text())
]


@pytest.mark.parametrize(("parts", "key"), CASES, ids=str)
def test_parts_are_packed_as_ever(parts: tuple[Part, ...], key: bytes) -> None:
    assert keys.pack(*parts) == key


@pytest.mark.parametrize(("parts", "key"), CASES, ids=str)
def test_keys_of_old_are_unpacked(parts: tuple[Part, ...], key: bytes) -> None:
    assert keys.unpack(key) == parts


def test_the_order_of_old_keys_stands() -> None:
    stored = [key for _, key in CASES]

    assert stored == sorted(stored)
    assert len(set(stored)) == len(stored) == 36


def test_ranges_find_the_keys_that_lie_in_them() -> None:
    start, end = keys.prefix("oslo")
    assert (start, end) == (b"\x02oslo\x00", b"\x02oslo\x00\xff")
    start, end = keys.opening("oslo", "ad")
    assert (start, end) == (b"\x02oslo\x00\x02ad", b"\x02oslo\x00\x02ae")
