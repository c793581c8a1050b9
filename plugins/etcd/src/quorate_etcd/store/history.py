"""The changes of a store in their order, as watches that are behind read them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from quorate.plugin import Reader

from quorate_etcd.families import revision_key
from quorate_etcd.store.view import Span, View
from quorate_etcd.v1 import queries_pb2 as pb
from quorate_etcd.wire import mvcc_pb2 as mvcc

#: Changes and bytes that a query reads at a time: it blocks the loop.
_PAGE_ROWS: Final = 1_000
_PAGE_BYTES: Final = 1 << 20
#: Pairs that are read before their size is looked at.
_VERSIONS_AT_A_TIME: Final = 8


def history(reader: Reader, query: pb.History) -> Iterable[pb.Changes]:
    """Answer the changes of the wanted keys from a revision on, in their order."""
    view = View(reader, query.store)
    start = getattr(query, "from")
    answer = pb.Changes(
        revision=view.revision,
        compacted=view.kept,
        # Of what is not written out yet nothing is shown.
        until=min([view.revision, *(each.place.revision - 1 for each in view.row.sweeps)]),
        applied=reader.revision,
    )
    spans = [Span.of(each.key, each.range_end) for each in query.ranges]
    size, seen, last = 0, 0, 0
    # The pairs that changes up to it have ended cannot be read.
    readable = max(view.kept, 0)
    position = query.at or revision_key(view.prefix, max(start, view.kept, 1))
    for named, revision, row, pair in view.changes(position):
        if revision > answer.until:
            break
        if seen >= _PAGE_ROWS or size >= _PAGE_BYTES:
            if revision > last:
                answer.until = revision - 1
            else:
                answer.next = named
            break
        last, seen = revision, seen + 1
        if not any(each.holds(row.key) for each in spans):
            continue
        event = answer.events.add(kv=pair)
        if row.deleted:
            event.type = mvcc.Event.DELETE
        if query.previous and row.HasField("previous") and revision > readable:
            [before] = view.pairs_at([row.previous])
            event.prev_kv.CopyFrom(before)
        size += event.ByteSize()
    yield answer


def find_versions(reader: Reader, query: pb.FindVersions) -> Iterable[pb.Versions]:
    """Answer pairs by their places: the first ones, if all are too large for an answer."""
    view, answer, room = View(reader, query.store), pb.Versions(), _PAGE_BYTES
    for first in range(0, len(query.places), _VERSIONS_AT_A_TIME):
        for pair in view.pairs_at(query.places[first : first + _VERSIONS_AT_A_TIME]):
            answer.kvs.append(pair)
            room -= pair.ByteSize()
            if room < 0:
                break
        if room < 0:
            break
    yield answer
