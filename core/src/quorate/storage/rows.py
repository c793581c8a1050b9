"""How a row of a public family is stored: the revision that wrote it, then its value."""

from struct import Struct
from typing import Final

#: The prefix of a stored value. Loops over many rows use it directly, without a call per row.
REVISION: Final = Struct(">Q")


def stored(revision: int, value: bytes) -> bytes:
    """Return the bytes of a row that this revision wrote."""
    return REVISION.pack(revision) + value


def revision_of(row: bytes) -> int:
    """Return the revision that wrote a stored row."""
    [revision] = REVISION.unpack_from(row)
    return int(revision)


def value_of(row: bytes) -> bytes:
    """Return the value of a stored row."""
    return row[REVISION.size :]
