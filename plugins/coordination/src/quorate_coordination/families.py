"""Where the rows are, which of them lie together, and how their fences are named."""

from collections.abc import Callable
from typing import Any, Final

from quorate.plugin import ColumnFamily, keys
from quorate.plugin.advanced import METADATA_GROUP
from quorate.plugin.checking import check_text

GROUP: Final = METADATA_GROUP.name
LEASES: Final = "coordination.leases"
LOCKS: Final = "coordination.locks"
CLAIMS: Final = "coordination.claims"
ATTACHMENTS: Final = "coordination.attachments"
#: The number of the claim of a lease, a lock and an id.
CLAIM_NUMBERS: Final = "coordination.claim_numbers"
#: The claims that wait, by lock and number.
WAITING: Final = "coordination.waiting"
#: The keys of the attachments that are to be carried out in other shards.
ENDED: Final = "coordination.ended"
#: The timer of leases, by the keys of their rows.
LIFE: Final = "coordination.life"
#: The sequence of tokens, and of the numbers of claims.
TOKENS: Final = "coordination.tokens"

#: The first parts of the names of fences.
LOCK_FENCE: Final = "lock"
ROW_FENCE: Final = "row"

LONGEST_NAME: Final = 512
LONGEST_ID: Final = 128
LONGEST_OWNER: Final = 256
LONGEST_VALUE: Final = 64 << 10
#: Of claims and attachments, for one lease: its end is a part of one entry.
MOST_HELD: Final = 1_000


def place_of(key: bytes) -> bytes:
    """Return the shard key of a row: its name up to the first slash, as that of a pair."""
    return str(keys.unpack(key)[0]).partition("/")[0].encode()


INDEXES: Final = tuple(
    ColumnFamily(name=name, group=GROUP, shard_key=place_of)
    for name in (CLAIM_NUMBERS, WAITING, ENDED)
)


def lock_fence(lock: str, permit: int = 0) -> bytes:
    """Return the name of the fence of a lock's holder, or of one permit of a semaphore."""
    return keys.pack(LOCK_FENCE, lock, permit)


def row_fence(row: str) -> bytes:
    """Return the name of the fence of a row that goes with a lease."""
    return keys.pack(ROW_FENCE, row)


def text_of(longest: int, *, empty: bool = False) -> Callable[[str, Any], None]:
    """Return a check that refuses text that is empty, too long, or cannot be printed."""

    def check(field: str, value: str) -> None:
        if value or not empty:
            check_text(field, value, longest)

    return check


check_name: Final = text_of(LONGEST_NAME)
check_id: Final = text_of(LONGEST_ID)
check_owner: Final = text_of(LONGEST_OWNER, empty=True)
