"""Walks over any number of rows, a bounded number at a time."""

from collections.abc import Iterator
from typing import Final

from quorate.plugin import Reader, Row

_CHUNK: Final = 1_000


def walk(reader: Reader, family: str, start: bytes, end: bytes) -> Iterator[Row]:
    """Yield the rows of a range in the order of their keys."""
    while rows := list(reader.scan(family, start, end, limit=_CHUNK)):
        yield from rows
        start = rows[-1].key + b"\x00"
