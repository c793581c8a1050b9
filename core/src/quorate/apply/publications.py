"""Publications: the staged files of all shards of a group are installed atomically.

The row of a publication in metadata/0 alone decides. Each shard closes the families of the load and
reports this; the last report commits the publication in the same entry, and a failure aborts it.
Then each shard opens, with its files or unchanged. No shard installs its files before all are
closed, so a client that has read a row of the load reads no older row in any shard.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from quorate.apply.layers import Layer, Rows
from quorate.plugin import keys
from quorate.storage.families import PUBLICATIONS, SLOTS
from quorate.v1 import files_pb2 as pb

#: The key of a shard's mark in the family `core.slots`.
_MARK: Final = b"published"


def mark(rows: Rows) -> pb.PublicationMark:
    """Return the state of publications in a shard."""
    return pb.PublicationMark.FromString(rows.get(SLOTS, _MARK) or b"")


def put_mark(layer: Layer, found: pb.PublicationMark) -> None:
    """Record the state of publications in a shard."""
    layer.put(SLOTS, _MARK, found.SerializeToString(deterministic=True))


def find(rows: Rows, group: str, name: str) -> pb.Publication | None:
    """Return a publication, if there is one."""
    row = rows.get(PUBLICATIONS, keys.pack(group, name))
    return None if row is None else pb.Publication.FromString(row)


def under_way(rows: Rows) -> Iterator[pb.Publication]:
    """Yield the publications that have not ended in every shard."""
    for _, row in rows.iterate(PUBLICATIONS, b"", None):
        found = pb.Publication.FromString(row)
        if found.parts:
            yield found
