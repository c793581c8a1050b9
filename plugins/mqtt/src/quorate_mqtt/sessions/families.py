"""Where the sessions are: each under its tenant and client, with all that ends with it."""

from typing import Final

from quorate.plugin import ColumnFamily

from quorate_mqtt.shards import GROUP
from quorate_mqtt.v1.sessions_pb2 import Session

SESSIONS: Final = "mqtt.sessions"
#: Private: how many sessions of this shard are connected, by the epoch of their broker.
CONNECTIONS: Final = "mqtt.connections"
#: The timer of the sessions whose client is gone: its deadlines have the keys of the rows.
EXPIRY: Final = "mqtt.session_expiry"


def shard_of(key: bytes) -> bytes:
    """Return the shard key of a session, which is its key."""
    return key


FAMILIES: Final = (
    ColumnFamily(name=SESSIONS, group=GROUP, row=Session, shard_key=shard_of),
    # No shard key: each shard counts its own.
    ColumnFamily(name=CONNECTIONS, group=GROUP),
)
