"""Walks over any number of rows, a bounded number at a time."""

from collections.abc import Iterator
from typing import Final

from quorate.plugin import Reader, Row

#: The most that a list yields: a largest page, and one that tells that there are more.
LONGEST_LIST: Final = 1_001
#: What controllers find at a time, when they do not say how many.
FOUND: Final = 1_000
_CHUNK: Final = 1_000


def walk(reader: Reader, family: str, start: bytes, end: bytes) -> Iterator[Row]:
    """Yield the rows of a range in the order of their keys."""
    while rows := list(reader.scan(family, start, end, limit=_CHUNK)):
        yield from rows
        start = behind(rows[-1].key)


def behind(key: bytes) -> bytes:
    """Return the smallest key that is larger."""
    return key + b"\x00"
