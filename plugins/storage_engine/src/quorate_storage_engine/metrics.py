"""What is measured on the node that leads."""

from typing import Final

from quorate.plugin import Metric

ELECTIONS: Final = Metric(
    name="quorate_storage_engine_elections_total",
    kind="counter",
    help="Leaders that controllers gave to segments, by reason.",
    labels=("reason",),
)
UNAVAILABLE: Final = Metric(
    name="quorate_storage_engine_unavailable_segments",
    kind="gauge",
    help="Segments without a leader.",
)
THIN: Final = Metric(
    name="quorate_storage_engine_thin_segments",
    kind="gauge",
    help="Segments with fewer replicas than they are to have.",
)
OVERDUE: Final = Metric(
    name="quorate_storage_engine_overdue_drops",
    kind="gauge",
    help="Drops that an engine was asked for long ago and has not acknowledged.",
    labels=("engine",),
)

METRICS: Final = (ELECTIONS, UNAVAILABLE, THIN, OVERDUE)
