"""Which engine should lead a segment, where it could and does not."""

from quorate_storage_engine.engines.fleet import Fleet
from quorate_storage_engine.v1.rows_pb2 import Segment


def preferred_leader(segment: Segment, fleet: Fleet) -> str | None:
    """Return the first replica if it could lead and another one does."""
    if not segment.leader or not segment.replicas:
        return None
    preferred = segment.replicas[0]
    if (
        preferred == segment.leader
        or preferred not in segment.isr
        or not fleet.is_registered(preferred)
        or fleet.is_leaving(preferred)
    ):
        return None
    return preferred
