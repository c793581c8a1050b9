"""The rules of elections: changes of a segment's leader, and of nothing else."""

from collections.abc import Callable

from quorate_storage_engine.v1.rows_pb2 import Segment


def successor(segment: Segment, is_registered: Callable[[str], bool]) -> str | None:
    """Return the first live in-sync replica besides the leader.

    The leader itself is none, even where another process of it lives: that one has to tell its
    log's end first.
    """
    for engine in segment.isr:
        if engine != segment.leader and is_registered(engine):
            return engine
    return None


def enthrone(segment: Segment, engine: str, broker_epoch: int) -> None:
    """Let an engine lead under the next leader epoch, in the process that is registered."""
    segment.leader = engine
    segment.leader_broker_epoch = broker_epoch
    segment.leader_epoch += 1
    segment.segment_epoch += 1


def depose(segment: Segment) -> None:
    """Leave a segment without a leader, and keep in mind who holds all that was acknowledged."""
    segment.last_known_isr[:] = segment.isr
    del segment.isr[:]
    segment.leader = ""
    segment.leader_broker_epoch = 0
    segment.segment_epoch += 1


def restore(segment: Segment, engine: str, broker_epoch: int) -> None:
    """Let an engine lead a segment that had no leader: the others have to catch up with it."""
    del segment.last_known_isr[:]
    segment.isr[:] = [engine]
    enthrone(segment, engine, broker_epoch)
