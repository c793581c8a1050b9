"""Bugs that the simulation must find: each takes one rule out of the plugin."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final
from unittest.mock import patch

from quorate.plugin import Reader
from quorate_storage_engine.engines import apply as engines, queries as engine_queries
from quorate_storage_engine.engines.apply import Add, Leave, next_step
from quorate_storage_engine.engines.fleet import Fleet
from quorate_storage_engine.leadership import apply as elections, queries as election_queries
from quorate_storage_engine.leadership.apply import depose, enthrone
from quorate_storage_engine.removal import apply as removal
from quorate_storage_engine.segments.rows import read_segment
from quorate_storage_engine.v1.rows_pb2 import Segment

from tests.support.plugin_world import Bug, wrong


def _nothing(*_: object) -> None:
    """Check nothing."""


def _any_replica(segment: Segment, is_registered: Callable[[str], bool]) -> str | None:
    """Follow a leader by any live replica, and call it in sync."""
    others = (name for name in segment.replicas if name != segment.leader and is_registered(name))
    found = next(others, None)
    if found is not None and found not in segment.isr:
        segment.isr.append(found)
    return found


def _same_epoch(segment: Segment, engine: str, broker_epoch: int) -> None:
    """Let the next leader lead under the epoch of the last one."""
    enthrone(segment, engine, broker_epoch)
    segment.leader_epoch -= 1


def _another_process(segment: Segment, engine: str, broker_epoch: int) -> None:
    """Keep the broker epoch of the leader before."""
    before = segment.leader_broker_epoch
    enthrone(segment, engine, broker_epoch)
    segment.leader_broker_epoch = before


def _forget_in_sync(segment: Segment) -> None:
    """Take every replica for one that was in sync."""
    depose(segment)
    segment.last_known_isr[:] = segment.replicas


def _leave_at_once(segment: Segment, engine: str, fleet: Fleet) -> Add | Leave | None:
    """Let a replica leave as soon as another one was added."""
    step = next_step(segment, engine, fleet)
    if step is not None or engine not in segment.replicas or not fleet.is_leaving(engine):
        return step
    stayers = [name for name in segment.replicas if not fleet.is_leaving(name)]
    if len(stayers) < segment.wanted_replicas:
        return None
    if engine != segment.leader:
        return Leave(segment.leader)
    heirs = [name for name in stayers if fleet.is_registered(name)]
    return Leave(heirs[0]) if heirs else None


def _preferred_whoever(segment: Segment, fleet: Fleet) -> str | None:
    """Give leadership to the first replica whether it is in sync or not."""
    preferred = segment.replicas[0] if segment.leader else ""
    other = preferred != segment.leader and fleet.is_registered(preferred)
    return preferred if other else None


def _gone_alone(reader: Reader, shard: str, number: int) -> Segment | None:
    """Overlook leaders that registered again."""
    segment = read_segment(reader, shard, number)
    if segment is None or Fleet(reader).is_registered(segment.leader):
        return None
    return segment


#: By what is wrong.
BUGS: Final[Mapping[str, Bug]] = {
    "a leader is followed by any live replica": wrong(
        patch.object(elections, "successor", _any_replica)
    ),
    "the next leader has the epoch of the last one": wrong(
        patch.object(elections, "enthrone", _same_epoch)
    ),
    "the next leader is given to another process": wrong(
        patch.object(elections, "enthrone", _another_process)
    ),
    "every replica was in sync when the leader went": wrong(
        patch.object(elections, "depose", _forget_in_sync)
    ),
    "a leader that registered again is taken for alive": wrong(
        patch.object(election_queries, "read_segment", _gone_alone)
    ),
    "the preferred leader need not be in sync": wrong(
        patch.object(elections, "preferred_leader", _preferred_whoever),
        patch.object(election_queries, "preferred_leader", _preferred_whoever),
    ),
    "a replica leaves before another one caught up": wrong(
        patch.object(engines, "next_step", _leave_at_once),
        patch.object(engine_queries, "next_step", _leave_at_once),
    ),
    "no replica is told to drop a removed segment": wrong(
        patch.object(removal, "ask_to_drop", _nothing)
    ),
}
