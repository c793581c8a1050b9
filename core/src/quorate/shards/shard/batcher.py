"""Batches the commands of many callers into few entries."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from math import inf
from typing import Final, Protocol

from quorate.apply.entries import MAX_COMMANDS
from quorate.shards.shard.writes import Write


class Pipeline(Protocol):
    """The entries that are in flight."""

    @property
    def idle(self) -> bool:
        """Whether none is."""

    @property
    def full(self) -> bool:
        """Whether no more should be."""


class Batcher:
    """Proposes waiting writes: soon if nothing is in flight, else once that commits, after a
    maximum wait, or when they fill a large entry; nothing while the pipeline is full.

    `propose` gets the writes of one entry and returns those that did not fit: they wait for the
    next one. A batch smaller than the previous one waits `linger_s`: callers that were
    answered together go on together. A lone writer never waits.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        propose: Callable[[Sequence[Write]], Sequence[Write]],
        pipeline: Pipeline,
        *,
        linger_s: float,
        behind_s: float,
        enough_bytes: int,
        batch_bytes: int,
        max_commands: int = MAX_COMMANDS,
    ) -> None:
        self._loop: Final = loop
        self._propose: Final = propose
        self._pipeline: Final = pipeline
        self._linger_s: Final = linger_s
        self._behind_s: Final = behind_s
        self._enough_bytes: Final = min(enough_bytes, batch_bytes)
        self._batch_bytes: Final = batch_bytes
        self._max_commands: Final = max_commands
        self._queue: deque[Write] = deque()
        self._bytes = 0
        self._soon: asyncio.Handle | None = None
        self._timer: asyncio.TimerHandle | None = None
        #: When the timer ends, which uvloop's timers without a delay do not report.
        self._due = inf
        #: The number of writes in the last entry.
        self._together = 1

    def __len__(self) -> int:
        return len(self._queue)

    def __iter__(self) -> Iterator[Write]:
        return iter(self._queue)

    def put(self, write: Write) -> None:
        """Enqueue a write."""
        self._queue.append(write)
        self._bytes += write.size
        self._gather(free=self._pipeline.idle)

    def committed(self) -> None:
        """Propose waiting writes after a commit, or after the pipeline has opened."""
        if self._queue:
            self._gather(free=True)

    def take(self) -> list[Write]:
        """Remove and return all waiting writes."""
        self._cancel()
        taken = list(self._queue)
        self._queue.clear()
        self._bytes = 0
        return taken

    def take_ended(self) -> list[Write]:
        """Remove and return the waiting writes that have ended."""
        ended = [write for write in self._queue if write.future.done()]
        if ended:
            self._queue = deque(write for write in self._queue if not write.future.done())
            self._bytes -= sum(write.size for write in ended)
        return ended

    def _gather(self, *, free: bool) -> None:
        if self._soon is not None:
            return
        complete = free and len(self._queue) >= self._together
        if complete or self._bytes >= self._enough_bytes:
            self._soon = self._loop.call_soon(self._flush)
        else:
            self._flush_in(self._linger_s if free else self._behind_s)

    def _flush_in(self, delay_s: float) -> None:
        due = self._loop.time() + delay_s
        if due >= self._due:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._due = due
        self._timer = self._loop.call_later(delay_s, self._flush)

    def _flush(self) -> None:
        self._cancel()
        while self._queue and not self._pipeline.full:
            left = self._propose(self._take_entry())
            if left:
                # Evaluation takes long, so let other shards run in between.
                self._queue.extendleft(reversed(left))
                self._bytes += sum([write.size for write in left])
                self._soon = self._loop.call_soon(self._flush)
                return

    def _take_entry(self) -> list[Write]:
        taken: list[Write] = []
        queue, size, count = self._queue, 0, 0
        while queue:
            write = queue[0]
            size += write.size
            count += write.count
            if taken and (size > self._batch_bytes or count > self._max_commands):
                break
            taken.append(queue.popleft())
            self._bytes -= write.size
        self._together = len(taken)
        return taken

    def _cancel(self) -> None:
        if self._soon is not None:
            self._soon.cancel()
        if self._timer is not None:
            self._timer.cancel()
        self._soon = self._timer = None
        self._due = inf
