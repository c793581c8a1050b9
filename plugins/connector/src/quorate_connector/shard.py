"""Where the rows are: all of them in one shard, because scheduling needs them together."""

from typing import Final

from quorate.plugin import keys

#: Shared with the plugin `mqtt`, whose shards may be many.
GROUP: Final = "mqtt"
SHARD_KEY: Final = keys.pack("connector")


def shard_key(_: object) -> bytes:
    """Return the shard key of every command, query and row of the plugin."""
    return SHARD_KEY
