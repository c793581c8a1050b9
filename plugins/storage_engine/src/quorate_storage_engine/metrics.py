"""What is measured on the node that leads."""

from typing import Final

from quorate.plugin import Alert, Metric

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
    alert=Alert(
        name="QuorateSegmentsWithoutLeader",
        expression="quorate_storage_engine_unavailable_segments > 0",
        meaning="Segments have no leader: engines take no records for them.",
        action="Start the engines that hold them; see `quorate engine list`.",
        severity="critical",
    ),
)
THIN: Final = Metric(
    name="quorate_storage_engine_thin_segments",
    kind="gauge",
    help="Segments with fewer replicas than they are to have.",
    alert=Alert(
        name="QuorateThinSegments",
        expression="quorate_storage_engine_thin_segments > 0",
        meaning="Segments have had fewer replicas than they are to have for ten minutes.",
        action="Start more engines, or make room on those that live.",
        for_s=600,
    ),
)
OVERDUE: Final = Metric(
    name="quorate_storage_engine_overdue_drops",
    kind="gauge",
    help="Drops that an engine was asked for long ago and has not acknowledged.",
    labels=("engine",),
)

METRICS: Final = (ELECTIONS, UNAVAILABLE, THIN, OVERDUE)
