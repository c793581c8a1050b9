"""The metrics of a node's etcd clients."""

from typing import Final

from quorate.plugin import Metric

WATCHES: Final = Metric(
    name="quorate_etcd_watches",
    kind="gauge",
    help="Watches that this node holds for the clients of etcd.",
    labels=("store",),
)

WATCHES_REFUSED: Final = Metric(
    name="quorate_etcd_watches_refused_total",
    kind="counter",
    help="Watches that were refused, as their connection or this node had too many.",
    labels=("store",),
)

METRICS: Final = (WATCHES, WATCHES_REFUSED)
