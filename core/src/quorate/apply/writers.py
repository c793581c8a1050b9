"""The last writer of each row, kept beside the rows while `audit.writers` is on."""

from collections.abc import Collection
from struct import Struct
from typing import Final, NamedTuple

from quorate.apply.layers import Layer, Rows
from quorate.storage.families import WRITERS

#: The revision that was written and the logical time of it, before the name.
_HEAD: Final = Struct(">Qq")


class Writer(NamedTuple):
    """The writer of a row. The name is empty for the cluster itself and for unproven callers."""

    revision: int
    at_ms: int
    name: str


def record(layer: Layer, families: Collection[str], writer: Writer) -> None:
    """Add the writer of the rows that a layer changes in some families."""
    changed = [each for each in layer.tables.items() if each[0] in families]
    if not changed:
        return
    value = _HEAD.pack(writer.revision, writer.at_ms) + writer.name.encode()
    written = layer.table(WRITERS).rows
    for family, table in changed:
        before = _before(family)
        for key, row in table.rows.items():
            written[before + key] = None if row is None else value


def find(rows: Rows, family: str, key: bytes) -> Writer | None:
    """Return the writer that is kept for a row; the row may be newer, or gone."""
    value = rows.get(WRITERS, _before(family) + key)
    if value is None:
        return None
    revision, at_ms = _HEAD.unpack_from(value)
    return Writer(revision, at_ms, value[_HEAD.size :].decode())


def _before(family: str) -> bytes:
    return family.encode() + b"\0"
