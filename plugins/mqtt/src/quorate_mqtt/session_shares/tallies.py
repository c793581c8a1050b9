"""How many sessions of each tenant a shard has."""

from struct import Struct
from typing import Final

from quorate.plugin import Reader, Txn, keys

from quorate_mqtt.session_shares.families import TALLIES

_COUNT: Final = Struct(">Q")


def sessions_of(reader: Reader, tenant: str) -> int:
    """Return how many sessions of a tenant are here."""
    value = reader.get(TALLIES, keys.pack(tenant))
    return int(_COUNT.unpack(value)[0]) if value is not None else 0


def add(txn: Txn, tenant: str, more: int) -> None:
    """Count sessions that have begun, or, below zero, ended."""
    count = sessions_of(txn, tenant) + more
    if count:
        txn.put(TALLIES, keys.pack(tenant), _COUNT.pack(count))
    else:
        txn.delete(TALLIES, keys.pack(tenant))
