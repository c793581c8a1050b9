"""The revision up to which a shard has forgotten its deleted groups.

Every group that a shard knows has changed behind it, so a reader of changes who stands before it
may have missed deletions, and one who stands behind it has not.
"""

from typing import Final

from quorate.plugin import Reader, Txn, keys

from quorate_offset.families import FLOORS
from quorate_offset.marks import changes

_DELETED: Final = keys.pack("deleted")


def read_floor(reader: Reader) -> int:
    """Return the revision; 0 where nothing was forgotten yet."""
    return int.from_bytes(reader.get(FLOORS, _DELETED) or b"")


def raise_floor(txn: Txn, revision: int, group: bytes) -> bool:
    """Raise it to the change of a group that is to be forgotten, if no older change stands."""
    [oldest] = changes(txn, after=0, limit=1)
    if oldest != (revision, group):
        return False
    txn.put(FLOORS, _DELETED, revision.to_bytes(8))
    return True
