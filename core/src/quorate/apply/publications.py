"""Publications: the staged files of all shards of a group are installed atomically.

The row of a publication in metadata/0 alone decides. Each shard closes the families of the load and
reports this; the last report commits the publication in the same entry, and a failure aborts it.
Then each shard opens, with its files or unchanged. No shard installs its files before all are
closed, so a client that has read a row of the load reads no older row in any shard.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from quorate.apply import members
from quorate.apply.file_sets import PUBLISHING
from quorate.apply.layers import Layer, Rows
from quorate.apply.txn import ShardTxn
from quorate.plugin import Rejected, keys
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


def begin(txn: ShardTxn, asked: pb.BeginPublication) -> pb.Publication:
    """Begin a publication in every shard of a group, one at a time."""
    known = find(txn.layer, asked.group, asked.name)
    if known is not None and (known.parts or known.state == pb.Publication.COMMITTED):
        return known
    other = next((each for each in under_way(txn.layer) if each.group == asked.group), None)
    if other is not None:
        raise Rejected(PUBLISHING, f"{other.name} is being published: try again after it")
    begun = pb.Publication(
        group=asked.group,
        name=asked.name,
        command=asked.command,
        number=txn.revision,
        state=pb.Publication.CLOSING,
    )
    for row in members.shards(txn):
        if row.group != asked.group or row.merged_into:
            continue
        if members.is_changing(row):
            raise Rejected(
                members.SPLITTING,
                f"shard {row.group}/{row.number} is being split or merged: publish when it is over",
            )
        begun.parts.add(shard=row.number)
    if not begun.parts:
        raise Rejected("NOT_FOUND", f"there is no shard of group {asked.group}")
    _put(txn, begun)
    return begun


def report(txn: ShardTxn, asked: pb.ReportPublication) -> pb.Publication:
    """Record the state of a shard; commit once all are closed, abort if one cannot close."""
    known = find(txn.layer, asked.group, asked.name)
    if known is None or known.number != asked.publication:
        return known or pb.Publication()
    if asked.over and known.state != pb.Publication.CLOSING:
        left = [each for each in known.parts if each.shard != asked.shard]
        del known.parts[:]
        known.parts.extend(left)
    elif asked.failure:
        _abort(known, asked.failure)
    elif known.state == pb.Publication.CLOSING:
        for part in known.parts:
            part.closed |= part.shard == asked.shard
        if all(part.closed for part in known.parts):
            known.state = pb.Publication.COMMITTED
    _put(txn, known)
    return known


def end(txn: ShardTxn, asked: pb.EndPublication) -> pb.Publication:
    """Abort a publication that is not committed; or forget one that has ended."""
    known = find(txn.layer, asked.group, asked.name)
    if known is None:
        return pb.Publication()
    if not asked.forget:
        _abort(known, "its load was aborted")
        _put(txn, known)
    elif known.parts:
        raise Rejected(PUBLISHING, f"{known.name} is being published: forget it after that")
    else:
        txn.layer.delete(PUBLICATIONS, keys.pack(known.group, known.name))
    return known


def _abort(known: pb.Publication, reason: str) -> None:
    if known.state == pb.Publication.CLOSING:
        known.state, known.reason = pb.Publication.ABORTED, reason


def _put(txn: ShardTxn, row: pb.Publication) -> None:
    value = row.SerializeToString(deterministic=True)
    txn.layer.put(PUBLICATIONS, keys.pack(row.group, row.name), value)
