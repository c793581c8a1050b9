"""The reads that the controller decides by."""

from collections.abc import Iterator

from quorate.plugin import Reader, keys, read_range
from quorate.plugin.resource import TENANTS, limit_of
from quorate.v1.tenant_pb2 import Tenant

from quorate_mqtt.session_shares import tallies
from quorate_mqtt.session_shares.families import LIMIT
from quorate_mqtt.session_shares.room import seat_of, share_of
from quorate_mqtt.v1.shares_pb2 import ListSeats, ListSessionTallies, Seat, SessionTally


def list_seats(reader: Reader, _: ListSeats) -> Iterator[Seat]:
    """Yield the seat of this shard, if it has one."""
    seat = seat_of(reader)
    if seat.slots:
        yield seat


def seat_order(seat: Seat) -> bytes:
    """Return the key by which the seats of several shards are merged."""
    return keys.pack(seat.shard)


def list_session_tallies(reader: Reader, _: ListSessionTallies) -> Iterator[SessionTally]:
    """Yield what this shard has, and may have, of each tenant with a limit."""
    seat = seat_of(reader)
    for row in read_range(reader, TENANTS, *keys.prefix()):
        tenant = Tenant.FromString(row.value)
        limit = limit_of(tenant, LIMIT)
        if limit is not None:
            yield SessionTally(
                tenant=tenant.name,
                shard=seat.shard,
                probe=seat.probe,
                sessions=tallies.sessions_of(reader, tenant.name),
                limit=limit,
                share=share_of(reader, tenant.name, limit, seat),
            )


def tally_order(tally: SessionTally) -> bytes:
    """Return the key by which the tallies of several shards are merged."""
    return keys.pack(tally.tenant, tally.shard)
