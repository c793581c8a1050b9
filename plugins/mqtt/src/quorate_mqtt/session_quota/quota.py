"""The sessions of a tenant in a shard: their number, and the quota for more."""

from typing import Final

from quorate.plugin import ColumnFamily, Reader, Rejected, Txn, keys
from quorate.plugin.resource import TENANTS, limit_of, tenant_there

from quorate_mqtt.counts import add_to, count_at, join_counts
from quorate_mqtt.shards import GROUP
from quorate_mqtt.v1.quotas_pb2 import SessionQuota, ShardPlace

#: The name of the limit in a tenant's row.
LIMIT: Final = "mqtt.sessions"
#: Private: the place of the shard, one row.
PLACES: Final = "mqtt.shard_places"
PLACE_KEY: Final = keys.pack("place")
#: Private: the number of sessions in this shard, by tenant.
COUNTS: Final = "mqtt.session_counts"
#: Private: the quota of this shard, by tenant.
QUOTAS: Final = "mqtt.session_quotas"
#: A sequence from which a shard learns its number.
NUMBERS: Final = "mqtt.shard_places"


def _join_places(_: bytes, own: bytes, other: bytes) -> bytes:
    """Keep the place of one of two shards that merge, until shards are counted again."""
    return own


def _join_quotas(_: bytes, own: bytes, other: bytes) -> bytes:
    """Return the quota of two shards that merge: the sum of their parts of the same limit."""
    given, more = SessionQuota.FromString(own), SessionQuota.FromString(other)
    if given.limit == more.limit:
        given.quota += more.quota
    return given.SerializeToString(deterministic=True)


# No shard key: each shard has its own.
FAMILIES: Final = (
    ColumnFamily(name=PLACES, group=GROUP, joins=_join_places),
    ColumnFamily(name=COUNTS, group=GROUP, joins=join_counts),
    ColumnFamily(name=QUOTAS, group=GROUP, joins=_join_quotas),
)


def sessions_of(reader: Reader, tenant: str) -> int:
    """Return the number of sessions of a tenant in this shard."""
    return count_at(reader, COUNTS, keys.pack(tenant))


def add_sessions(txn: Txn, tenant: str, more: int) -> None:
    """Count new sessions, or, below zero, ended ones."""
    add_to(txn, COUNTS, keys.pack(tenant), more)


class QuotaLeft:
    """The room for sessions of a tenant in this shard, during one command."""

    __slots__ = ("_limit", "_reader", "_tenant", "left")

    def __init__(
        self, reader: Reader, tenant: str, limit: int | None = None, left: int | None = None
    ) -> None:
        self._reader: Final = reader
        self._tenant: Final = tenant
        self._limit: Final = limit
        #: The remaining number of sessions; None: unlimited.
        self.left = left

    def take(self, count: int = 1) -> None:
        """Take room for more sessions, or reject them."""
        if self.left is None:
            return
        if self.left < count:
            self._reader.refresh(TENANTS)
            more = "another one" if count == 1 else f"{count} more"
            raise Rejected(
                "LIMIT_REACHED",
                f"tenant {self._tenant} may have {self._limit} sessions, and this shard has no "
                f"room for {more}; delete sessions, or raise the limit {LIMIT}",
            )
        self.left -= count


def quota_left(reader: Reader, tenant: str) -> QuotaLeft:
    """Return the room of a tenant; reject a tenant that is unknown or being deleted."""
    limit = limit_of(tenant_there(reader, tenant), LIMIT)
    if limit is None:
        return QuotaLeft(reader, tenant)
    quota = quota_of(reader, tenant, limit, place_of(reader))
    return QuotaLeft(reader, tenant, limit, quota - sessions_of(reader, tenant))


def place_of(reader: Reader) -> ShardPlace:
    """Return the place of this shard; empty before shards were counted."""
    return ShardPlace.FromString(reader.get(PLACES, PLACE_KEY) or b"")


def quota_of(reader: Reader, tenant: str, limit: int, place: ShardPlace) -> int:
    """Return this shard's part of a limit: the quota that was moved here, or else its even part.

    The even parts of all shards add up to the limit. Before shards were counted, the part is 0.
    """
    if place.shards == 1:
        return limit
    value = reader.get(QUOTAS, keys.pack(tenant))
    if value is not None:
        given = SessionQuota.FromString(value)
        if given.limit == limit:
            return given.quota
    if place.shards == 0:
        return 0
    return limit // place.shards + (place.shard < limit % place.shards)
