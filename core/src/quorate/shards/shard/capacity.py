"""Resources that the shards of a node share: queues, disk space, the time of the loop."""

import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from quorate.observe.failpoints import failpoint
from quorate.plugin.shard_id import ShardId
from quorate.shards.refusals import ExhaustedError

_log = logging.getLogger(__name__)

#: What stays free for what cannot be refused: terms, votes, the files of a flush.
MARGIN_BYTES: Final = 64 << 20
#: A shard at its fastest writes several megabytes in this time, with all that follows from it.
_LOOK_S: Final = 0.05
_RETRY_MS: Final = 1_000

#: A shorter turn of applying needs no pause.
_LONG_S: Final = 0.003
_LONGEST_REST_S: Final = 0.05
#: How long other shards count as busy after their last turn.
_RECENT_S: Final = 0.25


class Admission:
    """Limits a queue by bytes and by count.

    Each `admit` needs a `release` with the same arguments.
    """

    def __init__(
        self, name: str, *, max_bytes: int, max_count: int, retry_after_ms: int = 50
    ) -> None:
        self.bytes = 0
        self.count = 0
        self._name: Final = name
        self._max_bytes: Final = max_bytes
        self._max_count: Final = max_count
        self._retry_after_ms: Final = retry_after_ms

    def admit(self, size: int, count: int = 1) -> None:
        """Reserve capacity for `count` commands of `size` bytes in all.

        Raises `ExhaustedError` if there is none; an empty queue accepts more than its limit.
        """
        full = self.count + count > self._max_count or self.bytes + size > self._max_bytes
        if full and self.count:
            raise ExhaustedError(
                f"{self._name} is full: {self.count} commands of {self.bytes} bytes wait; "
                f"at most {self._max_count}, or {self._max_bytes} bytes, may wait",
                self._retry_after_ms,
            )
        self.bytes += size
        self.count += count

    def release(self, size: int, count: int = 1) -> None:
        """Release capacity."""
        if size > self.bytes or count > self.count:
            raise ValueError(f"{self._name} released more than was reserved")
        self.bytes -= size
        self.count -= count


class FairShare:
    """A bound shared by callers, each of which gets at most as much as it leaves free.

    One caller alone may hold half of it. Of several that want more than there is, each gets the
    same, and as much again stays free for the next one. `setting` is where the bound is set.
    """

    def __init__(self, what: str, most: int, setting: str) -> None:
        #: By caller.
        self.held: Final[dict[str, int]] = {}
        self.total = 0
        self.most: Final = most
        self.refused = 0
        self._what: Final = what
        self._setting: Final = setting

    def take(self, who: str, amount: int = 1) -> None:
        """Let a caller have more; raises `ExhaustedError`. There is always room for nothing."""
        if not amount:
            return
        held, free = self.held.get(who, 0), self.most - self.total - amount
        # One that has nothing gets whatever there is.
        if free < 0 or (held and held + amount > free):
            self.refused += 1
            raise ExhaustedError(
                f"{who} has {held} of the {self.most} {self._what} of this node "
                f"({self._setting}), {self.most - self.total} are free, and nobody gets more than "
                "is left for others",
                _RETRY_MS,
                self._setting,
            )
        self.charge(who, amount)

    def charge(self, who: str, amount: int) -> None:
        """Let a caller have more, whether or not there is any."""
        if amount:
            self.held[who] = self.held.get(who, 0) + amount
            self.total += amount

    def give(self, who: str, amount: int = 1) -> None:
        """Release a caller's amount; it raises nothing, so that the end of a call stays as it is.

        That more is given back than was had is a bug, which is logged.
        """
        if not amount:
            return
        held = self.held.get(who, 0)
        if amount > held:
            _log.error("%s gives back %d %s and had %d", who, amount, self._what, held)
            amount = held
        self.total -= amount
        if amount < held:
            self.held[who] = held - amount
        else:
            self.held.pop(who, None)


class FreeSpace:
    """Checks whether there is space for writes, at most twenty times a second.

    Once it was short, a quarter more than the margin must be free: a node at its margin would pass
    leaderships back and forth with another one.
    """

    def __init__(
        self,
        measure: Callable[[], int],
        clock: Callable[[], float],
        *,
        margin_bytes: int = MARGIN_BYTES,
    ) -> None:
        #: When a refused caller may retry.
        self.retry_after_ms: Final = _RETRY_MS
        self._measure: Final = measure
        self._clock: Final = clock
        self._margin_bytes: Final = margin_bytes
        self._free_bytes = margin_bytes
        self._short = False
        self._looked = float("-inf")

    @property
    def short(self) -> bool:
        """Whether less is free than must be."""
        now = self._clock()
        if now - self._looked >= _LOOK_S:
            self._looked = now
            self._free_bytes = self._measure()
            self._short = self._free_bytes < self._least_bytes
        return self._short

    @property
    def _least_bytes(self) -> int:
        return self._margin_bytes * 5 // 4 if self._short else self._margin_bytes

    @property
    def shortage(self) -> str:
        """The reason for refused callers."""
        return (
            f"{self._free_bytes} bytes are free on this node's disk and {self._least_bytes} must"
            " be free: it takes no writes, and others lead its shards if they can; free space,"
            " and it goes on by itself"
        )


def free_bytes_of(path: Path) -> int:
    """Return the free bytes of a path's file system for this process."""
    try:
        failpoint("disk.measured")
    except OSError:
        return 0
    found = os.statvfs(path)
    return found.f_bavail * found.f_frsize


class LoopBudget:
    """Returns the pause of a shard after a turn of applying, which is as long as the turn.

    A write of another shard needs several turns of the loop, each of which could be a long one. The
    only busy shard of a node never pauses.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock: Final = clock
        self._worked_at: Final[dict[ShardId, float]] = {}

    def after(self, shard: ShardId, took_s: float) -> float:
        """Record a turn of applying, and return the pause after it."""
        now = self._clock()
        self._worked_at[shard] = now
        if took_s < _LONG_S:
            return 0.0
        recently = now - _RECENT_S
        others = any(at > recently for other, at in self._worked_at.items() if other != shard)
        return min(took_s, _LONGEST_REST_S) if others else 0.0
