"""How many sessions of a tenant a shard has, and how many more it may take."""

from typing import Final

from quorate.plugin import ColumnFamily, Reader, Rejected, Txn, keys
from quorate.plugin.resource import TENANTS, limit_of, tenant_there

from quorate_mqtt.counts import add_to, count_at
from quorate_mqtt.shards import GROUP
from quorate_mqtt.v1.shares_pb2 import Seat, SessionShare

#: The name of the limit in a tenant's row.
LIMIT: Final = "mqtt.sessions"
#: Private: the seat of the shard, one row.
SEATS: Final = "mqtt.seats"
SEAT_KEY: Final = keys.pack("seat")
#: Private: how many sessions of a tenant this shard has, by tenant.
TALLIES: Final = "mqtt.session_tallies"
#: Private: how many it may have, by tenant.
SHARES: Final = "mqtt.session_shares"
#: A sequence that tells a shard its number.
NUMBERS: Final = "mqtt.seats"

# No shard key: each shard has its own.
FAMILIES: Final = tuple(ColumnFamily(name=name, group=GROUP) for name in (SEATS, TALLIES, SHARES))


def sessions_of(reader: Reader, tenant: str) -> int:
    """Return how many sessions of a tenant are here."""
    return count_at(reader, TALLIES, keys.pack(tenant))


def add_sessions(txn: Txn, tenant: str, more: int) -> None:
    """Count sessions that have begun, or, below zero, ended."""
    add_to(txn, TALLIES, keys.pack(tenant), more)


class Room:
    """The room that a tenant has in this shard, while one command goes on."""

    __slots__ = ("_limit", "_reader", "_tenant", "left")

    def __init__(
        self, reader: Reader, tenant: str, limit: int | None = None, left: int | None = None
    ) -> None:
        self._reader: Final = reader
        self._tenant: Final = tenant
        self._limit: Final = limit
        #: Sessions that still fit in; None: as many as there may be.
        self.left = left

    def take(self) -> None:
        """Take the place of one more session, or refuse it."""
        if self.left is None:
            return
        if self.left <= 0:
            self._reader.refresh(TENANTS)
            raise Rejected(
                "LIMIT_REACHED",
                f"tenant {self._tenant} may have {self._limit} sessions, and this shard has no "
                f"room for another one; delete sessions, or raise the limit {LIMIT}",
            )
        self.left -= 1


def room_of(reader: Reader, tenant: str) -> Room:
    """Return the room that a tenant has; refuse one that is unknown or being deleted."""
    limit = limit_of(tenant_there(reader, tenant), LIMIT)
    if limit is None:
        return Room(reader, tenant)
    share = share_of(reader, tenant, limit, seat_of(reader))
    return Room(reader, tenant, limit, share - sessions_of(reader, tenant))


def seat_of(reader: Reader) -> Seat:
    """Return what this shard knows of itself; nothing before shards were counted."""
    return Seat.FromString(reader.get(SEATS, SEAT_KEY) or b"")


def share_of(reader: Reader, tenant: str, limit: int, seat: Seat) -> int:
    """Return how much of a limit is this shard's: what it was given, or else its even part.

    The even parts of all shards come to the limit. Before shards were counted nothing is given.
    """
    if seat.shards == 1:
        return limit
    value = reader.get(SHARES, keys.pack(tenant))
    if value is not None:
        given = SessionShare.FromString(value)
        if given.limit == limit:
            return given.share
    if seat.shards == 0:
        return 0
    return limit // seat.shards + (seat.shard < limit % seat.shards)
