from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st
from quorate.consensus.journal import Position
from quorate.storage.data.record import EMPTY, AppliedRecord

NUMBERS = st.integers(0, 2**64 - 1)


@given(
    st.builds(
        AppliedRecord,
        st.builds(Position, NUMBERS, NUMBERS),
        NUMBERS,
        st.binary(max_size=40),
        st.integers(-(2**63), 2**63 - 1),
        NUMBERS,
        NUMBERS,
    )
)
def test_a_record_is_read_as_it_was_written(record: AppliedRecord) -> None:
    assert AppliedRecord.decode(record.encode()) == record


def test_other_bytes_are_refused() -> None:
    content = replace(EMPTY, configuration=b"members").encode()

    with pytest.raises(ValueError, match="too short"):
        AppliedRecord.decode(content[:20])
    with pytest.raises(ValueError, match="newer version"):
        AppliedRecord.decode(b"\x02" + content[1:])
