"""The column family of pairs, their shard keys and their expiry."""

from typing import Final

from quorate.plugin import ColumnFamily, Timer
from quorate.plugin.advanced import METADATA_GROUP
from quorate.v1 import kv_pb2 as pb

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


FAMILY: Final = ColumnFamily(
    name=PAIRS, group=GROUP, row=pb.Pair, shard_key=shard_of, place=lambda key: ("", key)
)
#: A touch renews it: a new leader first waits for touches that it has not seen.
EXPIRY: Final = Timer(
    name=TTL, group=GROUP, due=lambda due: pb.ExpirePairs(keys=due), liveness=True
)


def quoted(key: bytes) -> str:
    """Quote a key for a message, alike on every replica and every version of Python."""
    return repr(key).removeprefix("b")
