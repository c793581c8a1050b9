"""Looks at the cluster of `quorate dev`, and the events between two of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from quorate.cli.statuses import Silent, Status, leads


class Leader(NamedTuple):
    """The leader of a shard and its term."""

    node: str
    term: int


class Event(NamedTuple):
    """A line for people, and its parts for programs."""

    sentence: str
    parts: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """The cluster as its nodes report it."""

    leaders: Mapping[str, Leader]
    silent: Mapping[str, str]
    unready: frozenset[str]
    alarms: frozenset[tuple[str, str]]

    @classmethod
    def at(cls, statuses: Mapping[str, Status]) -> Look:
        """Combine the statuses of the nodes; of two leaders, the one with the later term counts."""
        leaders: dict[str, Leader] = {}
        unready: set[str] = set()
        said = {node: each for node, each in statuses.items() if not isinstance(each, Silent)}
        for node, status in said.items():
            # A replica that has stopped is an alarm: nothing is to be waited for.
            stopped = status.broken or any(each.stopped for each in status.shards)
            if not status.ready and not stopped:
                unready.add(node)
            for shard in filter(leads, status.shards):
                known = leaders.get(shard.shard)
                if known is None or known.term < shard.term:
                    leaders[shard.shard] = Leader(node, shard.term)
        return cls(
            leaders=leaders,
            silent={
                node: each.reason for node, each in statuses.items() if isinstance(each, Silent)
            },
            unready=frozenset(unready),
            alarms=frozenset((node, each) for node in said for each in said[node].alarms),
        )

    @property
    def ready(self) -> bool:
        """Whether every node answers and is ready."""
        return not self.silent and not self.unready

    def led_by(self, node: str) -> list[str]:
        """Return the shards that a node leads."""
        return sorted(shard for shard, leader in self.leaders.items() if leader.node == node)


def alarms(before: Look | None, now: Look) -> Iterator[Event]:
    """Report new alarms."""
    for node, alarm in sorted(now.alarms - (frozenset() if before is None else before.alarms)):
        yield Event(f"{node}: {alarm}", {"event": "alarm", "node": node, "alarm": alarm})


def changes(before: Look, now: Look) -> Iterator[Event]:
    """Yield the events between two looks: new leaders, nodes silent or answering again, alarms."""
    for node in (each for each in now.silent if each not in before.silent):
        reason = now.silent[node]
        parts = {"event": "silent", "node": node, "reason": reason}
        yield Event(f"{node} does not answer: {reason}", parts)
    for node in (each for each in before.silent if each not in now.silent):
        yield Event(f"{node} answers again", {"event": "answering", "node": node})
    for shard, leader in now.leaders.items():
        if before.leaders.get(shard) != leader:
            yield Event(
                f"{shard} is led by {leader.node} (term {leader.term})",
                {"event": "leader", "shard": shard, "node": leader.node, "term": leader.term},
            )
    yield from alarms(before, now)


def carried(before: Look, now: Look) -> Look:
    """Return the new look; shards without a reported leader keep their last known one."""
    return replace(now, leaders={**before.leaders, **now.leaders})
