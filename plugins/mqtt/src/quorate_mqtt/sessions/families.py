"""The families of sessions and of the rows that end with them, all by tenant and client."""

from typing import Final

from quorate.plugin import ColumnFamily

from quorate_mqtt.counts import join_counts
from quorate_mqtt.shards import GROUP

SESSIONS: Final = "mqtt.sessions"
#: Under the key of their client's session and their filter.
SUBSCRIPTIONS: Final = "mqtt.subscriptions"
#: The will of a client, under the key of its session.
WILLS: Final = "mqtt.wills"
#: Wills that are due, until they are acknowledged: under the key of the session and an id.
DELIVERIES: Final = "mqtt.will_deliveries"
#: Private: the number of connected sessions in this shard, by the epoch of their broker. It has no
#: shard key: each shard counts its own.
CONNECTIONS: Final = "mqtt.connections"
CONNECTION_COUNTS: Final = ColumnFamily(name=CONNECTIONS, group=GROUP, joins=join_counts)
#: The timer of the sessions of disconnected clients: its deadlines have the keys of the rows.
EXPIRY: Final = "mqtt.session_expiry"
#: The timer of the wills that wait for their client: its deadlines have the keys of the sessions.
DELAY: Final = "mqtt.will_delay"
