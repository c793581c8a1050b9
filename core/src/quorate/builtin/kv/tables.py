"""Pairs as rows of a table, for bulk loads and exports."""

from typing import Final

from quorate.builtin.kv.families import LONGEST_KEY, PAIRS
from quorate.builtin.kv.validation import LONGEST_TTL_MS, check_put
from quorate.plugin import Column, Extension, FileLoad, Invalid, Removal, Table
from quorate.v1 import kv_pb2 as pb


def to_item(key: bytes, value: bytes, ttl_ms: int | None) -> pb.PutPair:
    """Return the put of a pair, whatever is there."""
    ttl_ms = ttl_ms or 0
    if not 0 < len(key) <= LONGEST_KEY or not 0 <= ttl_ms <= LONGEST_TTL_MS:
        _refuse(key, ttl_ms)
    return pb.PutPair(key=key, value=value, ttl_ms=ttl_ms)


def to_insert(key: bytes, value: bytes, ttl_ms: int | None) -> pb.PutPair:
    """Return the put of a pair that is not there."""
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
    """Return the deletion of a pair as it was written at a revision."""
    return pb.DeletePair(key=key, expected_revision=revision)


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
    files=FileLoad(),
)
EXTENSION: Final = Extension(point="spark.tables", name=PAIRS, value=TABLE)
