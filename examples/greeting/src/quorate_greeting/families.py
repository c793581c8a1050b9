"""Where the rows are: the group, the column families in it, and their keys."""

from typing import Final

from quorate.plugin import ColumnFamily, keys
from quorate.plugin.advanced import cluster_place

from quorate_greeting.v1.rows_pb2 import Greeting, Tally

GROUP: Final = "greeting"
GREETINGS: Final = "greeting.greetings"
TALLIES: Final = "greeting.tallies"
#: The timer of the greetings: its deadlines have the keys of their rows.
EXPIRY: Final = "greeting.expiry"


def greeting_key(town: str, name: str) -> bytes:
    """Return the key of a person's greeting: a town's greetings lie together, by name."""
    return keys.pack(town, name)


def town_shard(town: str) -> bytes:
    """Return the shard key of a town: its people share a shard."""
    return keys.pack(town)


def greeting_shard(key: bytes) -> bytes:
    """Return the shard key of the greeting with this key."""
    town, _ = keys.unpack(key)
    return keys.pack(town)


def tally_key(salutation: str) -> bytes:
    """Return the key of a salutation's tally."""
    return keys.pack(salutation)


FAMILIES: Final = (
    ColumnFamily(
        name=GREETINGS,
        group=GROUP,
        row=Greeting,
        shard_key=greeting_shard,
        place=cluster_place,
    ),
    # No shard key: there are few tallies, and all of them lie in one shard.
    ColumnFamily(name=TALLIES, group=GROUP, row=Tally, place=cluster_place),
)
