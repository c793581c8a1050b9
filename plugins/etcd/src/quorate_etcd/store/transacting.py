"""How the request of a client is evaluated: a put, a deletion of a range, or a transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from google.protobuf.message import DecodeError
from quorate.plugin import Invalid, Reader, Txn

from quorate_etcd import errors
from quorate_etcd.store import sweeping
from quorate_etcd.store.ranges import evaluate_range
from quorate_etcd.store.view import Found, Span, View
from quorate_etcd.store.writing import Writing
from quorate_etcd.v1 import commands_pb2 as pb, queries_pb2 as asked, rows_pb2 as rows
from quorate_etcd.wire import rpc_pb2 as rpc

Write = rpc.PutRequest | rpc.DeleteRangeRequest | rpc.TxnRequest

_Compare = rpc.Compare
_KINDS: Final[Mapping[type[Write], pb.Transact.Kind]] = {
    rpc.PutRequest: pb.Transact.KIND_PUT,
    rpc.DeleteRangeRequest: pb.Transact.KIND_DELETE_RANGE,
    rpc.TxnRequest: pb.Transact.KIND_TXN,
}
#: A part of a request: no field of a command may be longer than a row.
_PART_BYTES: Final = 1_000_000

#: Keys that the compared ranges of one transaction may have, and keys of one deletion whose pairs
#: are in the answer. The leader evaluates it in one go, and must not stand still for as long as an
#: election takes.
_MOST_KEYS: Final = 10_000
_MOST_PAIR_BYTES: Final = 4 << 20

_HOLDS: Final[dict[int, Callable[[int], bool]]] = {
    _Compare.EQUAL: lambda order: order == 0,
    _Compare.GREATER: lambda order: order > 0,
    _Compare.LESS: lambda order: order < 0,
    _Compare.NOT_EQUAL: lambda order: order != 0,
}


def transact_of(store: str, request: Write) -> pb.Transact:
    """Return the command for the request of a client."""
    encoded = request.SerializeToString()
    parts = [encoded[at : at + _PART_BYTES] for at in range(0, len(encoded), _PART_BYTES)]
    return pb.Transact(store=store, kind=_KINDS[type(request)], request=parts)


def request_of(command: pb.Transact) -> Write:
    """Return the request of a client in a command; raises `Invalid`."""
    for message, kind in _KINDS.items():
        if kind == command.kind:
            try:
                return message.FromString(b"".join(command.request))
            except DecodeError as error:
                raise Invalid("request", str(error)) from None
    raise Invalid("kind", f"{command.kind} is unknown")


def check(command: pb.Transact) -> None:
    """Refuse a malformed request; raises `Invalid`."""
    request_of(command)


def transact(txn: Txn, command: pb.Transact) -> pb.Transacted:
    """Apply all of a write, or nothing."""
    done = pb.Transacted()
    carry_out(Writing(txn, command.store), request_of(command), done)
    return done


def carry_out(writing: Writing, request: Write, done: pb.Transacted) -> None:
    """Apply a write as the next revision, and set its answer; raises its refusal."""
    if isinstance(request, rpc.PutRequest):
        _demand_put(writing, request)
        _put(writing, request, done.put)
    elif isinstance(request, rpc.DeleteRangeRequest):
        _delete_range(writing, request, done.delete_range, alone=True)
    else:
        branch = Branch.taken(writing.view, request)
        branch.demand(writing)
        branch.carry_out(writing, done.txn)
        done.txn.header.revision = writing.view.latest
    if writing.changed:
        writing.commit()


def is_joint(request: Write) -> bool:
    """Whether a write, if it is refused, is so before it changes anything.

    So is one that names its keys: ranges may have too many of them.
    """
    if isinstance(request, rpc.PutRequest):
        return True
    if isinstance(request, rpc.DeleteRangeRequest):
        return not request.range_end
    return not any(each.range_end for each in request.compare) and all(
        each.HasField("request_put")
        or (each.HasField("request_range") and not each.request_range.range_end)
        or (each.HasField("request_delete_range") and not each.request_delete_range.range_end)
        for each in (*request.success, *request.failure)
    )


def weight(request: Write) -> int:
    """Return how many operations a write has."""
    if isinstance(request, rpc.TxnRequest):
        return len(request.compare) + len(request.success) + len(request.failure)
    return 1


def evaluate(reader: Reader, query: asked.Evaluate) -> Iterable[rpc.TxnResponse]:
    """Answer a transaction that changes nothing."""
    view = View(reader, query.store)
    branch = Branch.taken(view, query.request)
    branch.demand(view)
    response = rpc.TxnResponse()
    branch.carry_out(view, response)
    response.header.revision = view.revision
    yield response


class Branch:
    """The operations of a transaction that its compares have chosen.

    All compares, also those of nested transactions, are decided before any operation.
    """

    def __init__(self, succeeded: bool, operations: Sequence[rpc.RequestOp]) -> None:
        self._succeeded: Final = succeeded
        self._operations: Final = operations
        #: Those of nested transactions, by their positions.
        self._nested: Final[dict[int, Branch]] = {}

    @classmethod
    def taken(cls, view: View, request: rpc.TxnRequest) -> Branch:
        """Decide the compares of a transaction, and of those nested in the branch that it takes."""
        succeeded = all(_holds(view, each) for each in request.compare)
        branch = cls(succeeded, request.success if succeeded else request.failure)
        for position, operation in enumerate(branch._operations):
            if operation.WhichOneof("request") == "request_txn":
                branch._nested[position] = cls.taken(view, operation.request_txn)
        return branch

    def _all(self) -> Iterator[rpc.RequestOp]:
        for position, operation in enumerate(self._operations):
            nested = self._nested.get(position)
            yield from [operation] if nested is None else nested._all()

    def demand(self, state: Writing | View) -> None:
        """Refuse impossible operations before the first write, the first of them in their order."""
        view = state.view if isinstance(state, Writing) else state
        for operation in self._all():
            if operation.HasField("request_range"):
                if operation.request_range.revision:
                    view.demand(operation.request_range.revision)
            elif isinstance(state, Writing) and operation.HasField("request_put"):
                _demand_put(state, operation.request_put)

    def carry_out(self, state: Writing | View, response: rpc.TxnResponse) -> None:
        """Apply the operations in their order: each sees those before it."""
        response.succeeded = self._succeeded
        response.header.SetInParent()
        view = state.view if isinstance(state, Writing) else state
        for position, operation in enumerate(self._operations):
            answer = response.responses.add()
            if operation.HasField("request_range"):
                evaluate_range(view, operation.request_range, answer.response_range)
            elif position in self._nested:
                self._nested[position].carry_out(state, answer.response_txn)
            elif isinstance(state, Writing):
                if operation.HasField("request_put"):
                    _put(state, operation.request_put, answer.response_put)
                else:
                    deletion = operation.request_delete_range
                    _delete_range(state, deletion, answer.response_delete_range)


def _demand_put(writing: Writing, request: rpc.PutRequest) -> None:
    writing.demand_lease(request.lease)
    if (request.ignore_value or request.ignore_lease) and writing.view.newest(request.key) is None:
        errors.KEY_NOT_FOUND.refuse()


def _put(writing: Writing, request: rpc.PutRequest, response: rpc.PutResponse) -> None:
    value, lease = request.value, request.lease
    if request.ignore_value or request.ignore_lease or request.prev_kv:
        view = writing.view
        for pair in view.pairs(list(view.versions(Span.of(request.key, b""), view.latest, 1))):
            value = pair.value if request.ignore_value else value
            lease = pair.lease if request.ignore_lease else lease
            if request.prev_kv:
                response.prev_kv.CopyFrom(pair)
    writing.put(request.key, value, lease)
    response.header.revision = writing.revision


def _delete_range(
    writing: Writing,
    request: rpc.DeleteRangeRequest,
    response: rpc.DeleteRangeResponse,
    *,
    alone: bool = False,
) -> None:
    """Delete a range; one that is asked for alone reads many or large pairs afterwards."""
    view = writing.view
    span = Span.of(request.key, request.range_end)
    most = _MOST_KEYS if request.prev_kv else sweeping.MOST_DIRECT
    found = list(view.versions(span, view.latest, most + 1))
    if request.prev_kv and not _add_pairs(view, found, response) and not alone:
        errors.REQUEST_TOO_LARGE.refuse()
    if writing.takes([each.key for each in found]):
        response.deleted = len(found)
        for key, version in found:
            writing.delete(key, version)
    elif not writing.has_room(len(found)):
        errors.TOO_MANY_REQUESTS.refuse()
    else:
        response.deleted = view.count(span, sweeping.MOST_SWEPT + 1)
        writing.sweep(span, response.deleted)
    response.header.revision = view.latest


def _add_pairs(view: View, found: Sequence[Found], response: rpc.DeleteRangeResponse) -> bool:
    """Add the pairs of versions to an answer, or none if there is no room for all."""
    if len(found) > _MOST_KEYS:
        return False
    room = _MOST_PAIR_BYTES
    for pair in view.pairs_within(found, room):
        room -= pair.ByteSize()
        if room <= 0:
            del response.prev_kvs[:]
            return False
        response.prev_kvs.append(pair)
    return True


def _found(view: View, span: Span) -> list[Found]:
    """Return the versions of a compared range; refuses too many keys in one transaction."""
    found = list(view.versions(span, view.latest, _MOST_KEYS - view.looked_at + 1))
    view.looked_at += len(found)
    if view.looked_at > _MOST_KEYS:
        errors.REQUEST_TOO_LARGE.refuse()
    return found


def _holds(view: View, compare: rpc.Compare) -> bool:
    """Whether all keys of a compare are as it says, or nothing is if there are none."""
    span = Span.of(compare.key, compare.range_end)
    found = _found(view, span)
    if not found:
        return compare.target != _Compare.VALUE and _matches(rows.Version(), None, compare)
    if compare.target != _Compare.VALUE:
        return all(_matches(each.version, None, compare) for each in found)
    values = view.values([each.version.place for each in found])
    return all(
        _matches(each.version, value, compare) for each, value in zip(found, values, strict=True)
    )


def _matches(version: rows.Version, value: bytes | None, compare: rpc.Compare) -> bool:
    # The field of another target counts as 0 or empty.
    found: Any
    wanted: Any
    match compare.target:
        case _Compare.VERSION:
            found, wanted = version.version, compare.version
        case _Compare.CREATE:
            found, wanted = version.create_revision, compare.create_revision
        case _Compare.MOD:
            found, wanted = version.place.revision, compare.mod_revision
        case _Compare.LEASE:
            found, wanted = version.lease, compare.lease
        case _Compare.VALUE:
            found, wanted = value or b"", compare.value
        case _:
            found = wanted = 0
    holds = _HOLDS.get(compare.result)
    return holds is None or holds(int(found > wanted) - int(found < wanted))
