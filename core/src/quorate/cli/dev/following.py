"""What happens in a cluster between two looks at it, for one line each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from quorate.cli.statuses import Silent, Status


class Leader(NamedTuple):
    """Who leads a shard, and since which term."""

    node: str
    term: int


@dataclass(frozen=True, slots=True)
class Event:
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
        """Put together what the nodes say; of two leaders the one of the later term counts."""
        leaders: dict[str, Leader] = {}
        silent: dict[str, str] = {}
        unready: set[str] = set()
        alarms: set[tuple[str, str]] = set()
        for node, status in statuses.items():
            if isinstance(status, Silent):
                silent[node] = status.reason
                continue
            # A replica that has stopped is an alarm: nothing is to be waited for.
            stopped = status.broken or any(each.stopped for each in status.shards)
            if not status.ready and not stopped:
                unready.add(node)
            alarms.update((node, alarm) for alarm in status.alarms)
            for shard in status.shards:
                known = leaders.get(shard.shard)
                if (
                    shard.role == "leader"
                    and not shard.stopped
                    and (known is None or known.term < shard.term)
                ):
                    leaders[shard.shard] = Leader(node, shard.term)
        return cls(
            leaders=leaders,
            silent=silent,
            unready=frozenset(unready),
            alarms=frozenset(alarms),
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
    """Report what is new: other leaders, nodes that fell silent or answer again, alarms."""
    for node, reason in now.silent.items():
        if node not in before.silent:
            yield Event(
                f"{node} does not answer: {reason}",
                {"event": "silent", "node": node, "reason": reason},
            )
    for node in before.silent:
        if node not in now.silent:
            yield Event(f"{node} answers again", {"event": "answering", "node": node})
    for shard, leader in now.leaders.items():
        if before.leaders.get(shard) != leader:
            yield Event(
                f"{shard} is led by {leader.node} (term {leader.term})",
                {"event": "leader", "shard": shard, "node": leader.node, "term": leader.term},
            )
    yield from alarms(before, now)


def carried(before: Look, now: Look) -> Look:
    """Return the look with the leaders that nobody claims any more as they were last known."""
    return Look(
        leaders={**before.leaders, **now.leaders},
        silent=now.silent,
        unready=now.unready,
        alarms=now.alarms,
    )
