"""Where the rows are: the column family of the brokers, and the keys of rows and deadlines."""

from typing import Final

from quorate.plugin import keys
from quorate.plugin.advanced import METADATA_GROUP

GROUP: Final = METADATA_GROUP.name
BROKERS: Final = "cluster.brokers"
#: The timer of the brokers' lives: its deadlines have the keys of `life_key`.
LIVENESS: Final = "cluster.liveness"
#: The sequence of the epochs, one for all brokers.
EPOCHS: Final = "cluster.epochs"


def broker_key(name: str) -> bytes:
    """Return the key of a broker's row."""
    return keys.pack(name)


def life_key(name: str, epoch: int) -> bytes:
    """Return the key of a registration's deadline: each registration of a name has its own."""
    return keys.pack(name, epoch)


def broker_of_life(key: bytes) -> bytes:
    """Return the key of a broker's row from the key of its deadline."""
    name, _ = keys.unpack(key)
    return keys.pack(name)
