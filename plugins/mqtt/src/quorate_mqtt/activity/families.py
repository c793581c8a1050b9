"""Where each shard keeps what it has counted, and nobody has told yet."""

from typing import Final

from quorate.plugin import ColumnFamily, keys

from quorate_mqtt.shards import GROUP

#: Private: one row of each shard.
ACTIVITY: Final = "mqtt.activity"
ACTIVITY_KEY: Final = keys.pack("activity")

# No shard key: each shard counts its own.
FAMILIES: Final = (ColumnFamily(name=ACTIVITY, group=GROUP),)
