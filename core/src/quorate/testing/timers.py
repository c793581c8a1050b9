"""Which deadlines of a shard are due, and the commands that say so."""

from collections.abc import Iterator

from google.protobuf.message import Message

from quorate.apply.deadlines import Deadline
from quorate.plugin import Timer
from quorate.plugin.catalog import Catalog
from quorate.testing.shard import MemoryShard


def due_commands(
    catalog: Catalog,
    shard: MemoryShard,
    now_ms: int,
    led_since_ms: int,
    proposed: set[tuple[str, bytes, int]],
) -> Iterator[Message]:
    """Yield the due commands of a shard, the earliest deadlines first, in batches of each timer.

    Deadlines in `proposed` are left out; those that are yielded are added.
    """
    deadlines = shard.deadlines()
    for timer in catalog.timers.values():
        if timer.group != shard.group:
            continue
        due = [
            (key, at_ms)
            for key, at_ms in shard.applier.due(timer.name, now_ms, len(deadlines) or 1)
            if _due_at(timer, deadlines[timer.name, key], led_since_ms) <= now_ms
            and (timer.name, key, at_ms) not in proposed
        ]
        proposed.update((timer.name, key, at_ms) for key, at_ms in due)
        for start in range(0, len(due), timer.batch):
            yield timer.due([key for key, _ in due[start : start + timer.batch]])


def _due_at(timer: Timer, deadline: Deadline, led_since_ms: int) -> int:
    if not timer.liveness:
        return deadline.at_ms
    # A new leader has seen no renewal yet: it waits for one whole TTL first.
    return max(deadline.at_ms, led_since_ms + (deadline.ttl_ms or 0))
