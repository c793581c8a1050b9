"""Where each shard keeps what it knows of itself, and of the tenants whose sessions it has."""

from typing import Final

from quorate.plugin import ColumnFamily, keys

from quorate_mqtt.shards import GROUP

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
