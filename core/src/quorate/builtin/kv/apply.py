"""The handlers: functions of a transaction and a command, run once, by the leader.

All checks come before the first write: a refused item of a batch writes nothing.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from struct import Struct
from typing import Any, Final, TypeVar

from google.protobuf.message import Message

from quorate.builtin.kv.families import PAIRS, TTL, quoted
from quorate.plugin import Rejected, Row, Txn
from quorate.plugin.advanced import answer_each, still_due
from quorate.plugin.batches import AT_A_TIME
from quorate.v1 import kv_pb2 as pb
from quorate.v1.batch_pb2 import BatchReply

F = TypeVar("F")

_CREATED_TAG: Final = b"\x09"
_REVISION: Final = Struct("<Q")
#: Where a row has the revision of its creation, and the tag of its time to live.
CREATED_AT: Final = slice(0, len(_CREATED_TAG) + _REVISION.size)
TTL_TAG_AT: Final = slice(CREATED_AT.stop, CREATED_AT.stop + 1)
TTL_TAG: Final = b"\x10"


def created_in(revision: int) -> bytes:
    """Return the first bytes of the row of a pair that was created at this revision."""
    return _CREATED_TAG + _REVISION.pack(revision)


def kept_of(row: bytes) -> tuple[bytes, bool]:
    """Return the first bytes that a new row keeps, and whether this row has a time to live."""
    return row[CREATED_AT], row[TTL_TAG_AT] == TTL_TAG


def row_of(created: bytes, value: bytes, ttl_ms: int) -> bytes:
    """Return a row that begins with `created`."""
    if ttl_ms:
        created += pb.Pair(ttl_ms=ttl_ms).SerializeToString()
    return b"".join((created, value_head(len(value)), value)) if value else created


def new_rows(txn: Txn, values: Iterable[bytes]) -> list[bytes]:
    """Return the rows of new pairs that have a value each, and no time to live."""
    created, join = created_in(txn.revision), b"".join
    return [join((created, value_head(len(value)), value)) for value in values]


@lru_cache(maxsize=4_096)
def value_head(size: int) -> bytes:
    """Return the tag and length that precede a value of this size in its row."""
    return pb.Pair(value=bytes(size)).SerializeToString()[:-size]


#: The pair is not the one that the command expects.
MISMATCH: Final = "REVISION_MISMATCH"


def put_pair(txn: Txn, command: pb.PutPair) -> pb.PutPairReply:
    """Write a pair; renew its time to live, or remove it when none is given."""
    old = _expected(txn, command)
    _put(txn, command, old, created_in(txn.revision))
    return pb.PutPairReply(revision=txn.revision, created=old is None)


def put_pairs(txn: Txn, command: pb.PutPairs) -> BatchReply:
    """Write many pairs with distinct keys; the reply names the ones of unexpected revisions."""
    puts = list(command.pairs)
    reply, created = BatchReply(items=len(puts)), created_in(txn.revision)
    found: Iterable[bytes | None]
    if any([put.HasField("expected_revision") for put in puts]):
        puts, found = _as_expected(txn, puts, reply)
    else:
        # Reading revisions as well makes such a batch a sixth slower.
        found = _few(txn.get_values, puts)
    rows: dict[bytes, bytes] = {}
    join = b"".join
    for put, old in zip(puts, found, strict=True):
        value = put.value
        if not value or put.ttl_ms or (old is not None and old[TTL_TAG_AT] == TTL_TAG):
            rows[put.key] = _put_row(txn, put, old, created)
        else:
            # As `_put_row`, without three calls for each pair.
            begin = created if old is None else old[CREATED_AT]
            rows[put.key] = join((begin, value_head(len(value)), value))
    txn.put_each(PAIRS, rows)
    return reply


def delete_pair(txn: Txn, command: pb.DeletePair) -> pb.DeletePairReply:
    """Delete a pair, if there is one."""
    row = _expected(txn, command)
    _delete(txn, row)
    return pb.DeletePairReply(deleted=row is not None)


def touch_pair(txn: Txn, command: pb.TouchPair) -> pb.TouchPairReply:
    """Renew a pair's time to live: its deadline alone moves, and watches see no event."""
    return pb.TouchPairReply(expires_at_ms=_renew(txn, command.key, _renewable(txn, command)))


def commit_pairs(txn: Txn, command: pb.CommitPairs) -> pb.CommitPairsReply:
    """Apply all operations, if all revisions are as expected."""
    for comparison in command.comparisons:
        _expect(comparison.key, txn.get_row(PAIRS, comparison.key), comparison.expected_revision)
    for carry_out in [_prepared(txn, operation) for operation in command.operations]:
        carry_out()
    return pb.CommitPairsReply(revision=txn.revision)


def _each(field: str, apply: Callable[[Txn, Any], Message]) -> Callable[[Txn, Any], BatchReply]:
    """Return the handler of a batch: its items are applied one after the other, each on its own."""
    return lambda txn, command: answer_each(txn, getattr(command, field), apply)


delete_pairs: Final = _each("pairs", delete_pair)
touch_pairs: Final = _each("pairs", touch_pair)
commit_pairs_batch: Final = _each("transactions", commit_pairs)


def expire_pairs(txn: Txn, command: pb.ExpirePairs) -> BatchReply:
    """Delete the pairs that are still due: a touch may have moved a deadline since."""
    for key in still_due(txn, TTL, command.keys):
        txn.delete(PAIRS, key)
        txn.schedule(TTL, key, None)
    return BatchReply(items=len(command.keys))


def _prepared(txn: Txn, operation: pb.PairOperation) -> Callable[[], object]:
    """Check an operation, and return the function that applies it; raises `Rejected`."""
    kind = operation.WhichOneof("operation")
    if kind == "put":
        old = _expected(txn, operation.put)
        return lambda: _put(txn, operation.put, old, created_in(txn.revision))
    if kind == "delete":
        row = _expected(txn, operation.delete)
        return lambda: _delete(txn, row)
    if kind == "touch":
        ttl_ms = _renewable(txn, operation.touch)
        return lambda: _renew(txn, operation.touch.key, ttl_ms)
    raise Rejected("INVALID_ARGUMENT", "an operation is none of put, delete, touch")


def _few(
    read: Callable[[str, Iterable[bytes]], list[F]], puts: Sequence[pb.PutPair]
) -> Iterator[F]:
    """Yield what is read of each pair, with few of them in memory: they may be large."""
    for first in range(0, len(puts), AT_A_TIME):
        yield from read(PAIRS, [put.key for put in puts[first : first + AT_A_TIME]])


def _as_expected(
    txn: Txn, puts: Sequence[pb.PutPair], reply: BatchReply
) -> tuple[list[pb.PutPair], list[bytes | None]]:
    """Add unexpected puts to the reply's refusals; return the others and the rows they replace."""
    valid: list[pb.PutPair] = []
    values: list[bytes | None] = []
    found = _few(txn.get_rows, puts)
    for position, (put, row) in enumerate(zip(puts, found, strict=True)):
        try:
            if put.HasField("expected_revision"):
                _expect(put.key, row, put.expected_revision)
        except Rejected as refusal:
            reply.refusals.add(item=position, code=refusal.code, message=refusal.message)
        else:
            valid.append(put)
            values.append(None if row is None else row.value)
    return valid, values


def _expected(txn: Txn, command: pb.PutPair | pb.DeletePair | pb.TouchPair) -> Row | None:
    row = txn.get_row(PAIRS, command.key)
    if command.HasField("expected_revision"):
        _expect(command.key, row, command.expected_revision)
    return row


def _expect(key: bytes, row: Row | None, revision: int) -> None:
    found = row.revision if row is not None else 0
    if found != revision:
        is_there = f"has revision {found}" if found else "is absent"
        wanted = f"revision {revision}" if revision else "none"
        raise Rejected(MISMATCH, f"{quoted(key)} {is_there}, and {wanted} was expected")


def _put(txn: Txn, command: pb.PutPair, replaced: Row | None, created: bytes) -> None:
    """Write a pair; its row begins with `created` unless it replaces one."""
    old = None if replaced is None else replaced.value
    txn.put(PAIRS, command.key, _put_row(txn, command, old, created))


def _put_row(txn: Txn, command: pb.PutPair, old: bytes | None, created: bytes) -> bytes:
    """Return the row of a pair that is put; renew its time to live, or remove it."""
    ttl_ms = command.ttl_ms
    begin, had_ttl = (created, False) if old is None else kept_of(old)
    if ttl_ms:
        _renew(txn, command.key, ttl_ms)
    elif had_ttl:
        txn.schedule(TTL, command.key, None)
    return row_of(begin, command.value, ttl_ms)


def _delete(txn: Txn, row: Row | None) -> None:
    if row is not None:
        txn.delete(PAIRS, row.key)
        txn.schedule(TTL, row.key, None)


def _renewable(txn: Txn, command: pb.TouchPair) -> int:
    row = _expected(txn, command)
    if row is None:
        raise Rejected("NOT_FOUND", f"there is no pair {quoted(command.key)}; put it")
    ttl_ms = pb.Pair.FromString(row.value).ttl_ms
    if not ttl_ms:
        raise Rejected(
            "FAILED_PRECONDITION",
            f"{quoted(command.key)} has no time to live; put it with one",
        )
    return ttl_ms


def _renew(txn: Txn, key: bytes, ttl_ms: int) -> int:
    expires_at_ms = txn.proposed_at_ms + ttl_ms
    txn.schedule(TTL, key, expires_at_ms, ttl_ms=ttl_ms)
    return expires_at_ms
