"""Virtual time: one heap of events, one seed for every draw, one hash over all that happens."""

import hashlib
import heapq
from collections.abc import Callable
from random import Random
from typing import Any, Final, Protocol


class Disposable(Protocol):
    """What outlives a process, and would stir when it is collected."""

    def dispose(self) -> None:
        """Let go of everything."""


class World:
    """Runs events in the order of their time, and then of their making."""

    def __init__(self, seed: int) -> None:
        self.seed: Final = seed
        self.now = 0.0
        self.stopped = False
        self._heap: Final[list[tuple[float, int, Callable[..., None], tuple[Any, ...]]]] = []
        self._made = 0
        self._trace: Final = hashlib.blake2b(digest_size=8)
        self._kept: Final[list[Disposable]] = []

    def rng(self, concern: str) -> Random:
        """Return a stream of draws: how often one concern draws changes nothing for another."""
        return Random(f"{self.seed}/{concern}")

    def at(self, delay: float, act: Callable[..., None], *arguments: Any) -> None:
        """Call `act` after a delay."""
        self._made += 1
        heapq.heappush(self._heap, (self.now + delay, self._made, act, arguments))

    def keep(self, ended: Disposable) -> None:
        """Let nothing of it be collected, and thereby run, before `dispose`."""
        self._kept.append(ended)

    def dispose(self) -> None:
        """Let go of everything: the run is over."""
        while self._kept:
            self._kept.pop().dispose()

    def run(self, until: float) -> None:
        """Run every event up to a time, or until somebody sets `stopped`."""
        heap = self._heap
        while heap and heap[0][0] <= until and not self.stopped:
            self.now, _, act, arguments = heapq.heappop(heap)
            act(*arguments)
        if not self.stopped:
            self.now = until

    def note(self, what: str) -> None:
        """Make something part of the trace."""
        self._trace.update(f"{self.now:.9f} {what}\n".encode())

    @property
    def trace(self) -> str:
        """The hash of everything that was noted."""
        return self._trace.hexdigest()
