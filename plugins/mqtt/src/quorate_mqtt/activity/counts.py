"""What a shard has counted since it was last collected: numbers of one length, in one row."""

from __future__ import annotations

from operator import add
from struct import Struct
from typing import Final, NamedTuple

from quorate.plugin import ColumnFamily, Reader, Txn, keys

from quorate_mqtt.shards import GROUP

#: Private: one row of each shard.
ACTIVITY: Final = "mqtt.activity"
_KEY: Final = keys.pack("activity")
# No shard key: each shard counts its own.
FAMILY: Final = ColumnFamily(name=ACTIVITY, group=GROUP)


class Counts(NamedTuple):
    """How often things have happened; rows hold them in this order."""

    connects: int = 0
    take_overs: int = 0
    sessions_expired: int = 0
    wills_due: int = 0
    wills_reassigned: int = 0
    wills_published: int = 0


_NOTHING: Final = Counts()
_ROW: Final = Struct(f">{len(Counts._fields)}Q")


def counted(reader: Reader) -> Counts:
    """Return what this shard has counted."""
    value = reader.get(ACTIVITY, _KEY)
    return Counts() if value is None else Counts._make(_ROW.unpack(value))


def count(txn: Txn, more: Counts) -> None:
    """Count what a command has done; nothing is written when it has done nothing."""
    if more == _NOTHING:
        return
    value = txn.get(ACTIVITY, _KEY)
    sums = more if value is None else map(add, _ROW.unpack(value), more)
    txn.put(ACTIVITY, _KEY, _ROW.pack(*sums))


def collect(txn: Txn) -> Counts:
    """Return what was counted, and begin anew."""
    found = counted(txn)
    txn.delete(ACTIVITY, _KEY)
    return found
