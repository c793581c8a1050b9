"""The last hour of a node in samples, kept by the node itself: rates exist when nobody looks."""

import asyncio
import json
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Final

from quorate.observe.histogram import SECONDS, Histogram

EVERY_S: Final = 10.0
KEPT_S: Final = 3_600.0
_KEPT: Final = round(KEPT_S / EVERY_S)
#: The number of buckets of each histogram, the one without an end included.
BUCKETS: Final = len(SECONDS) + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """What a node has counted since it started, and what it measures now."""

    commands: float = 0.0
    #: The values in each bucket of `SECONDS`: of writes, of reads, and of fsyncs of the log.
    writes: Sequence[int] = (0,) * BUCKETS
    reads: Sequence[int] = (0,) * BUCKETS
    syncs: Sequence[int] = (0,) * BUCKETS
    disk_free: int = 0
    disk_size: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample(Totals):
    """What a node did in the seconds up to a moment."""

    at_ms: int
    took_s: float


_FIELDS: Final = tuple(each.name for each in fields(Sample))


class History:
    """Samples the totals of a node, and keeps the samples of an hour: less than a megabyte."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        totals: Callable[[], Totals],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._loop: Final = loop
        self._totals: Final = totals
        self._clock: Final = clock
        self._kept: Final = deque[Sample](maxlen=_KEPT)
        self._before: tuple[float, Totals] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Sample now and then; on the loop."""
        # First: a sample may fail, as while the disk does, and the next one may not.
        self._timer = self._loop.call_later(EVERY_S, self.start)
        self.take()

    def stop(self) -> None:
        """Take no more samples."""
        if self._timer is not None:
            self._timer.cancel()

    def take(self) -> None:
        """Take a sample of what was done since the last one."""
        at_s, now = self._clock(), self._totals()
        before, self._before = self._before, (at_s, now)
        if before is None:
            return
        since_s, was = before
        self._kept.append(
            Sample(
                at_ms=round(at_s * 1e3),
                took_s=round(max(at_s - since_s, 1e-3), 3),
                commands=max(0.0, now.commands - was.commands),
                writes=_grown(now.writes, was.writes),
                reads=_grown(now.reads, was.reads),
                syncs=_grown(now.syncs, was.syncs),
                disk_free=now.disk_free,
                disk_size=now.disk_size,
            )
        )

    def since(self, at_ms: int) -> Sequence[Sample]:
        """Return the samples after a moment, the oldest first; in any thread."""
        return [each for each in self._kept.copy() if each.at_ms > at_ms]


def summed(histograms: Iterable[Histogram]) -> Sequence[int]:
    """Return the values in each bucket of histograms of `SECONDS`."""
    totals = [0] * BUCKETS
    for each in histograms:
        for place, count in enumerate(each.counts):
            totals[place] += count
    return totals


def encoded(samples: Iterable[Sample]) -> bytes:
    """Return samples as they are sent."""
    rows = [{name: getattr(each, name) for name in _FIELDS} for each in samples]
    return json.dumps(rows, separators=(",", ":")).encode()


def decoded(text: bytes) -> Sequence[Sample]:
    """Return the samples that a node sent; fields that are not known here are left out."""
    return [
        Sample(**{name: value for name, value in row.items() if name in _FIELDS})
        for row in json.loads(text)
    ]


def quantile_s(buckets: Sequence[int], share: float) -> float | None:
    """Return the end of the bucket that a share of the values reaches; None without values."""
    wanted = share * sum(buckets)
    if not wanted:
        return None
    reached = 0
    for end, count in zip((*SECONDS, SECONDS[-1]), buckets, strict=True):
        reached += count
        if reached >= wanted:
            return end
    return SECONDS[-1]


def _grown(now: Sequence[int], before: Sequence[int]) -> Sequence[int]:
    # A shard that has left took its counts along.
    return tuple(max(0, more - less) for more, less in zip(now, before, strict=True))
