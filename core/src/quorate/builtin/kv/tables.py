"""Pairs as rows of a table, for bulk loads and exports."""

from collections.abc import Mapping, Sequence
from typing import Final

from quorate.builtin.kv.apply import new_rows
from quorate.builtin.kv.families import LONGEST_KEY, PAIRS, shard_of
from quorate.builtin.kv.validation import LONGEST_TTL_MS, check_put
from quorate.plugin import Extension, Invalid, Txn
from quorate.plugin.advanced import Column, ColumnLoad, FileLoad, Removal, Table
from quorate.v1 import kv_pb2 as pb

#: A value of this size fits everywhere.
_USUAL_VALUE: Final = 64 << 10


def to_item(key: bytes, value: bytes, ttl_ms: int | None) -> pb.PutPair:
    """Return an unconditional put of a pair."""
    ttl_ms = ttl_ms or 0
    if not 0 < len(key) <= LONGEST_KEY or not 0 <= ttl_ms <= LONGEST_TTL_MS:
        _refuse(key, ttl_ms)
    return pb.PutPair(key=key, value=value, ttl_ms=ttl_ms)


def to_insert(key: bytes, value: bytes, ttl_ms: int | None) -> pb.PutPair:
    """Return the put of a pair that must not exist yet."""
    put = to_item(key, value, ttl_ms)
    put.expected_revision = 0
    return put


def from_row(key: bytes, value: bytes) -> tuple[object, ...]:
    """Return a pair as its columns."""
    pair = pb.Pair.FromString(value)
    return key, pair.value, pair.ttl_ms or None


def to_key(key: bytes = b"") -> bytes:
    """Return the key of a pair."""
    return key


def to_removal(key: bytes, revision: int) -> pb.DeletePair:
    """Return the deletion of a pair that must still have a revision."""
    return pb.DeletePair(key=key, expected_revision=revision)


def shard_keys(
    pairs: Sequence[bytes], values: Sequence[bytes], ttls_ms: Sequence[int | None]
) -> list[bytes] | None:
    """Return the shard key of each pair; None where one has an odd key, no value, or a TTL."""
    lengths, sizes = list(map(len, pairs)), list(map(len, values))
    if (
        any(ttls_ms)
        or not 0 < min(lengths) <= max(lengths) <= LONGEST_KEY
        or not 0 < min(sizes) <= max(sizes) <= _USUAL_VALUE
    ):
        return None
    return list(map(shard_of, pairs))


def make(
    txn: Txn,
    _: Sequence[bytes],
    pairs: Sequence[bytes],
    values: Sequence[bytes],
    __: Sequence[int | None],
) -> Mapping[str, int]:
    """Write pairs that do not exist yet, and return their number."""
    txn.put_each(PAIRS, dict(zip(pairs, new_rows(txn, values), strict=True)))
    return {"": len(pairs)}


def _refuse(key: bytes, ttl_ms: int) -> None:
    if ttl_ms < 0:
        raise Invalid("ttl_ms", f"must not be negative, and is {ttl_ms}")
    check_put(pb.PutPair(key=key, ttl_ms=ttl_ms))


TABLE: Final = Table(
    family=PAIRS,
    columns=(
        Column(name="key", type="binary"),
        Column(name="value", type="binary"),
        Column(name="ttl_ms", type="long", nullable=True),
    ),
    key=("key",),
    write=pb.PutPairs,
    to_item=to_item,
    from_row=from_row,
    to_key=to_key,
    to_insert=to_insert,
    plain=True,
    removal=Removal(delete=pb.DeletePairs, to_item=to_removal),
    files=FileLoad(columns=ColumnLoad(shard_keys=shard_keys, make=make)),
)
EXTENSION: Final = Extension(point="spark.tables", name=PAIRS, value=TABLE)
