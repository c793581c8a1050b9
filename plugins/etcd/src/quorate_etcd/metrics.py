"""The metrics of a node's etcd clients."""

from typing import Final

from quorate.plugin import Metric

WATCHES: Final = Metric(
    name="quorate_etcd_watches",
    kind="gauge",
    help="Watches that this node holds for the clients of etcd.",
    labels=("store",),
)

METRICS: Final = (WATCHES,)
