"""The metrics of the node that leads the metadata shard."""

from typing import Final

from quorate.plugin import Metric
from quorate.plugin.advanced import Alert

ELECTIONS: Final = Metric(
    name="quorate_storage_engine_elections_total",
    kind="counter",
    help="Leaders that controllers elected, by reason.",
    labels=("reason",),
)
UNAVAILABLE: Final = Metric(
    name="quorate_storage_engine_unavailable_segments",
    kind="gauge",
    help="Segments without a leader.",
    alert=Alert(
        name="QuorateSegmentsWithoutLeader",
        expression="quorate_storage_engine_unavailable_segments > 0",
        meaning="Segments have no leader: engines accept no records for them.",
        action="Start the engines that hold them; see `quorate engine list`.",
        severity="critical",
    ),
)
THIN: Final = Metric(
    name="quorate_storage_engine_thin_segments",
    kind="gauge",
    help="Segments with fewer replicas than configured.",
    alert=Alert(
        name="QuorateThinSegments",
        expression="quorate_storage_engine_thin_segments > 0",
        meaning="Segments have had fewer replicas than configured for ten minutes.",
        action="Start more engines, or make room on the live ones.",
        for_s=600,
    ),
)
OVERDUE: Final = Metric(
    name="quorate_storage_engine_overdue_drops",
    kind="gauge",
    help="Overdue drops: requested of an engine long ago and not acknowledged.",
    labels=("engine",),
)

METRICS: Final = (ELECTIONS, UNAVAILABLE, THIN, OVERDUE)
