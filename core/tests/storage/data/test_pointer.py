from __future__ import annotations

import pytest
from quorate.consensus.journal import Position
from quorate.storage.data.record import Pointer

POINTERS = [Pointer(1, None), Pointer(2**40, Position(2**63, 7)), Pointer(2, Position(0, 0))]


@pytest.mark.parametrize("pointer", POINTERS)
def test_a_pointer_is_read_as_it_was_written(pointer: Pointer) -> None:
    assert Pointer.decode(pointer.encode()) == pointer


@pytest.mark.parametrize("pointer", POINTERS)
def test_a_torn_or_changed_pointer_is_refused(pointer: Pointer) -> None:
    content = pointer.encode()
    for place in range(len(content)):
        changed = bytearray(content)
        changed[place] ^= 1
        with pytest.raises(ValueError, match="checksum"):
            Pointer.decode(bytes(changed))
        with pytest.raises(ValueError, match="checksum"):
            Pointer.decode(content[:place])
