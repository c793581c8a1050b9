"""Numbers that a shard stores under keys; zero is not stored."""

from struct import Struct
from typing import Final

from quorate.plugin import Reader, Txn

_COUNT: Final = Struct(">Q")


def count_in(row: bytes | None) -> int:
    """Return the number in a row."""
    return 0 if row is None else int(_COUNT.unpack(row)[0])


def add_to(txn: Txn, family: str, key: bytes, more: int) -> None:
    """Add to a number; a negative amount subtracts."""
    count = count_at(txn, family, key) + more
    if count:
        txn.put(family, key, _COUNT.pack(count))
    else:
        txn.delete(family, key)


def join_counts(_: bytes, own: bytes, other: bytes) -> bytes:
    """Return the sum of the numbers of two shards that merge."""
    return _COUNT.pack(count_in(own) + count_in(other))


def count_at(reader: Reader, family: str, key: bytes) -> int:
    """Return the number under a key."""
    return count_in(reader.get(family, key))
