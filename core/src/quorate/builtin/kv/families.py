"""Where the pairs are, and which of them lie together."""

from typing import Final

from quorate.plugin import METADATA_GROUP, ColumnFamily
from quorate.v1.kv_pb2 import Pair

GROUP: Final = METADATA_GROUP.name
PAIRS: Final = "kv.pairs"
#: The timer of the pairs with a time to live: its deadlines have the keys of their rows.
TTL: Final = "kv.ttl"

#: No key is longer; lists without an end rely on it.
LONGEST_KEY: Final = 4_096
#: Greater than every key.
LAST: Final = b"\xff" * (LONGEST_KEY + 1)


def shard_of(key: bytes) -> bytes:
    """Return the shard key of a pair: its key up to the first slash."""
    return key.partition(b"/")[0]


FAMILY: Final = ColumnFamily(name=PAIRS, group=GROUP, row=Pair, shard_key=shard_of)


def quoted(key: bytes) -> str:
    """Return a key for a sentence: alike on every replica, whichever Python it runs."""
    return repr(key).removeprefix("b")
