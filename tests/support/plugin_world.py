"""Runs the processes that a plugin serves, over its real commands, while all goes wrong between.

The cluster is a `MemoryNode`, for what is judged are the plugin's rules about processes that crash,
come back and hear late. Nodes that fail are the matter of `tests.support.sim`.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from google.protobuf.message import Message
from quorate.plugin import Rejected, RowEvent
from quorate.testing import MemoryNode

#: How much happens in one run.
STEPS: Final = 400
#: Between two comparisons of the rows that follow from others.
_COMPARE: Final = 20

#: Something that happens.
Act = Callable[[], Awaitable[None]]
#: Switches a bug on while it is entered.
Bug = Callable[[], AbstractContextManager[None]]


class Violation(AssertionError):
    """Something happened that must never happen."""


class Flights(list[Act]):
    """Messages on their way through a network, which arrive in any order."""

    def __init__(self, rng: Random) -> None:
        super().__init__()
        self._rng: Final = rng

    async def arrive(self) -> None:
        """Let one arrive."""
        if self:
            await self.pop(self._rng.randrange(len(self)))()

    async def lose(self) -> None:
        """Lose one."""
        if self:
            self.pop(self._rng.randrange(len(self)))

    async def repeat(self) -> None:
        """Let one arrive that stays on its way."""
        if self:
            await self._rng.choice(self)()


class World(ABC):
    """One run, from one seed."""

    #: So often may everything happen once more until a healed world must be at rest.
    rounds: int

    def __init__(self, seed: int, node: MemoryNode) -> None:
        self.rng: Final = Random(seed)
        self.node: Final = node
        #: How often what happened.
        self.counts: Final[Counter[str]] = Counter()
        #: By family, what is called with its events after everything that happens.
        self.sees: Mapping[str, Callable[[RowEvent], None]] = {}
        self._seen_events = 0

    @abstractmethod
    async def begin(self) -> None:
        """Start the processes, and write the first rows."""

    @abstractmethod
    def acts(self) -> Sequence[tuple[Act, int]]:
        """Return all that may happen, each with its usual weight."""

    @abstractmethod
    async def heal(self) -> None:
        """Let nothing go wrong any more."""

    @abstractmethod
    async def everything(self) -> None:
        """Let everything happen once that must happen in a healed world."""

    @abstractmethod
    def unrest(self) -> str:
        """Return what has not come to rest; empty: all has."""

    @abstractmethod
    def differences(self) -> Sequence[str]:
        """Return what rows that follow from others say wrongly."""

    async def run(self, steps: int = STEPS) -> None:
        """Run a number of steps, heal everything, and check; raises `Violation`."""
        await self.begin()
        self.look()
        acts, usual = zip(*self.acts(), strict=True)
        # Each seed has its own habits: what is rare together in one is frequent in another.
        weights = [weight * self.rng.choice((0.3, 1, 4)) for weight in usual]
        for step, act in enumerate(self.rng.choices(acts, weights, k=steps)):
            await act()
            self.look()
            if step % _COMPARE == 0:
                self._compare()
        await self.heal()
        self.look()
        unrest = "nothing was done"
        for _ in range(self.rounds):
            await self.everything()
            unrest = self.unrest()
            if not unrest:
                break
        else:
            raise Violation(f"after {self.rounds} rounds without a fault: {unrest}")
        self._compare()

    def look(self) -> None:
        """See what has happened to rows since the last look."""
        events = self.node.events
        for event in events[self._seen_events :]:
            if isinstance(event, RowEvent) and (see := self.sees.get(event.family)):
                see(event)
        self._seen_events = len(events)

    async def land(self, flights: Flights) -> None:
        """Let all arrive in their order."""
        while flights:
            await flights.pop(0)()
            self.look()

    async def propose(self, command: Message, reply: type[Message]) -> str:
        """Return the code of a refusal; empty: there was none."""
        try:
            await self.node.propose(command, reply)
        except Rejected as refusal:
            self.counts[refusal.code] += 1
            return refusal.code
        self.look()
        return ""

    def _compare(self) -> None:
        if wrong := self.differences():
            raise Violation("; ".join(wrong))


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What came of some seeds, up to the first violation."""

    seeds: int = 0
    #: What was violated, and by which seed; empty: nothing was.
    violation: str = ""
    counts: Counter[str] = field(default_factory=Counter)


def run_seeds(new: Callable[[int], World], seeds: Iterable[int], bug: Bug = nullcontext) -> Outcome:
    """Run seeds with a bug switched on, or none, until one finds a violation."""
    outcome = Outcome()
    for seed in seeds:
        world = new(seed)
        outcome.seeds += 1
        try:
            with bug():
                asyncio.run(world.run())
        except AssertionError as violation:
            outcome.violation = f"seed {seed}: {violation}"
            break
        finally:
            outcome.counts += world.counts
    return outcome


def wrong(*patches: AbstractContextManager[Any]) -> Bug:
    """Return the bug of some patches of the plugin."""

    @contextmanager
    def switched_on() -> Iterator[None]:
        with ExitStack() as stack:
            for each in patches:
                stack.enter_context(each)
            yield

    return switched_on
