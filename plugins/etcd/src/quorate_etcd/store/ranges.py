"""How a range is answered: which keys are in it, in which order, and how many."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from quorate.plugin import Reader, keys

from quorate_etcd import errors
from quorate_etcd.store.view import Found, Span, View
from quorate_etcd.v1 import queries_pb2 as pb
from quorate_etcd.wire import mvcc_pb2 as mvcc, rpc_pb2 as rpc

_Request = rpc.RangeRequest

#: Rows and bytes that a query reads at a time: it blocks the loop.
_PAGE_ROWS: Final = 2_000
_PAGE_BYTES: Final = 1 << 20
#: Keys that all ranges within a transaction may have, and bytes of the answer to one and to all of
#: them: it is evaluated in one go.
_ROWS_IN_TRANSACTION: Final = 50_000
_BYTES_IN_TRANSACTION: Final = 4 << 20
_ALL_BYTES_IN_TRANSACTION: Final = 16 << 20

_SORTED_BY: Final[dict[int, Callable[[mvcc.KeyValue], Any]]] = {
    _Request.KEY: lambda kv: kv.key,
    _Request.VERSION: lambda kv: kv.version,
    _Request.CREATE: lambda kv: kv.create_revision,
    _Request.MOD: lambda kv: kv.mod_revision,
    _Request.VALUE: lambda kv: kv.value,
}


def find(reader: Reader, query: pb.Find) -> Iterable[pb.Page]:
    """Answer a part of a range."""
    view = View(reader, query.store)
    view.most_looked = _PAGE_ROWS
    if query.request.revision > 0:
        view.demand(query.request.revision)
    page = page_of(view, query.request, getattr(query, "from"), query.wanted)
    page.applied = reader.revision
    yield page


def page_of(
    view: View,
    request: rpc.RangeRequest,
    start: bytes = b"",
    wanted: int = 0,
    *,
    rows: int = _PAGE_ROWS,
    size: int = _PAGE_BYTES,
) -> pb.Page:
    """Return a part of a range: at most `wanted` pairs, and the number of all its keys."""
    page = pb.Page(revision=view.revision)
    span = Span.of(request.key, request.range_end)
    at = request.revision if request.revision > 0 else view.latest
    remaining = Span(max(span.start, start), span.end)
    if request.count_only or wanted <= 0:
        read, page.next = _read(view, remaining, at, rows)
        page.count = len(read)
        page.matched = sum(_within(each, request) for each in read)
        return page
    read, page.next = _read(view, remaining, at, rows)
    matching = [each for each in read if _within(each, request)] if is_bounded(request) else read
    kept = matching[:wanted]
    values = not request.keys_only or request.sort_target == _Request.VALUE
    page.kvs.extend(view.pairs_within(kept, size, values=values))
    if len(page.kvs) < len(kept):
        # The others are for the next page.
        following = kept[len(page.kvs)].key
        read = [each for each in read if each.key < following]
        matching = kept[: len(page.kvs)]
        page.next = following
    page.count, page.matched = len(read), len(matching)
    return page


def _read(view: View, span: Span, at: int, rows: int) -> tuple[list[Found], bytes]:
    """Return the first versions of a range, and where the rest of it begins, if any."""
    read = list(view.versions(span, at, rows))
    following = keys.successor(read[-1].key) if len(read) == rows else b""
    if not view.stopped or b"" < following <= view.stopped:
        return read, following
    return [each for each in read if each.key < view.stopped], view.stopped


def _within(found: Found, request: rpc.RangeRequest) -> bool:
    """Whether a version is within the bounds of a request; 0 is no bound."""
    modified, created = found.version.place.revision, found.version.create_revision
    return (
        (not request.min_mod_revision or modified >= request.min_mod_revision)
        and (not request.max_mod_revision or modified <= request.max_mod_revision)
        and (not request.min_create_revision or created >= request.min_create_revision)
        and (not request.max_create_revision or created <= request.max_create_revision)
    )


def is_bounded(request: rpc.RangeRequest) -> bool:
    """Whether a range has bounds of revisions."""
    return bool(
        request.min_mod_revision
        or request.max_mod_revision
        or request.min_create_revision
        or request.max_create_revision
    )


def in_key_order(request: rpc.RangeRequest) -> bool:
    """Whether the first pairs of a range are the first of its answer."""
    return (
        request.sort_target == _Request.KEY and request.sort_order != _Request.DESCEND
    ) or request.count_only


def most_pairs(request: rpc.RangeRequest) -> int:
    """Return how many pairs of a range an answer takes."""
    if request.limit > 0 and in_key_order(request):
        return request.limit
    if request.limit > 0 and request.sort_order == _Request.NONE and not is_bounded(request):
        # Sorted by anything else without an order, as etcd has it: the first ones and one more.
        return request.limit + 1
    return 1 << 62


def answer(request: rpc.RangeRequest, pages: Sequence[pb.Page]) -> rpc.RangeResponse:
    """Return the answer to a range from its pages."""
    response = rpc.RangeResponse(count=sum(page.count for page in pages))
    response.header.revision = pages[0].revision
    if request.count_only:
        return response
    kvs = [kv for page in pages for kv in page.kvs]
    if not in_key_order(request):
        descends = request.sort_order == _Request.DESCEND
        kvs.sort(key=_SORTED_BY[request.sort_target], reverse=descends)
    limit = request.limit if request.limit > 0 else len(kvs)
    response.more = sum(page.matched for page in pages) > limit
    response.kvs.extend(kvs[:limit])
    if request.keys_only:
        for kv in response.kvs:
            kv.ClearField("value")
            if request.sort_target != _Request.VALUE:
                # So it is since etcd 3.7.
                kv.ClearField("lease")
    return response


def is_plain(request: rpc.RangeRequest) -> bool:
    """Whether a range is the newest pair of one key, with its value."""
    return not (
        request.range_end
        or request.revision > 0
        or request.count_only
        or request.keys_only
        or is_bounded(request)
    )


def get(view: View, key: bytes, response: rpc.RangeResponse) -> None:
    """Set the answer to a plain range."""
    version = view.newest(key)
    if version is not None:
        response.kvs.extend(view.pairs_at([version.place]))
        response.count = 1
    response.header.revision = view.latest


def evaluate_range(view: View, request: rpc.RangeRequest, response: rpc.RangeResponse) -> None:
    """Set the answer to a range, at once, as transactions do."""
    if is_plain(request):
        get(view, request.key, response)
    else:
        page = page_of(
            view,
            request,
            wanted=most_pairs(request),
            rows=_ROWS_IN_TRANSACTION - view.ranged + 1,
            size=min(_BYTES_IN_TRANSACTION, _ALL_BYTES_IN_TRANSACTION - view.ranged_bytes),
        )
        if page.next:
            errors.REQUEST_TOO_LARGE.refuse()
        response.CopyFrom(answer(request, [page]))
        response.header.revision = view.latest
        view.ranged += page.count
    view.ranged_bytes += response.ByteSize()
    if view.ranged_bytes > _ALL_BYTES_IN_TRANSACTION:
        errors.REQUEST_TOO_LARGE.refuse()
