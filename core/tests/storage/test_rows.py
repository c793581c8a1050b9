from struct import error as StructError

import pytest
from quorate.storage import rows


def test_a_row_has_its_revision_in_front() -> None:
    row = rows.stored(0x0102, b"value")

    assert row == b"\0\0\0\0\0\0\x01\x02value"
    assert rows.revision_of(row) == 0x0102
    assert rows.value_of(row) == b"value"


def test_an_empty_value_is_a_row_too() -> None:
    assert rows.value_of(rows.stored(7, b"")) == b""


def test_what_is_shorter_than_a_revision_is_no_row() -> None:
    with pytest.raises(StructError):
        rows.revision_of(b"1234567")
