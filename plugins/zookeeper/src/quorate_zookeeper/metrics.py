"""The metrics of a node's ZooKeeper clients."""

from typing import Final

from quorate.plugin import Metric

CONNECTIONS: Final = Metric(
    name="quorate_zookeeper_connections",
    kind="gauge",
    help="Connections of ZooKeeper's clients to this node.",
)
WATCHES: Final = Metric(
    name="quorate_zookeeper_watches",
    kind="gauge",
    help="Watches that this node holds for its connections.",
)
EVENTS: Final = Metric(
    name="quorate_zookeeper_events_total",
    kind="counter",
    help="Watch events that this node sent, or withheld from clients that may not read the znode.",
    labels=("outcome",),
)

METRICS: Final = (CONNECTIONS, WATCHES, EVENTS)
