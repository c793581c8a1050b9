"""Where the rows are: the column family of the brokers, and the timer of their lives."""

from typing import Final

from quorate.plugin.advanced import METADATA_GROUP

GROUP: Final = METADATA_GROUP.name
#: By name.
BROKERS: Final = "cluster.brokers"
#: The timer of the brokers' lives, by name and epoch: each registration of a name has its own.
LIVENESS: Final = "cluster.liveness"
#: The sequence of the epochs, one for all brokers.
EPOCHS: Final = "cluster.epochs"
