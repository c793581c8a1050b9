"""Plays the parts of `quorate demo`: each makes its rows, and then all take turns at the load."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeVar

from quorate.client.errors import OutcomeUnknownError, QuorateError, UnavailableError
from quorate.plugin.console import DemoScene

if TYPE_CHECKING:
    from quorate.client import AsyncClient

T = TypeVar("T")
Part = Callable[["AsyncClient", DemoScene], AsyncGenerator[str, None]]

#: Wait after a failure, before a part begins anew.
_AGAIN_S: Final = 1.0
#: How often what makes rows is tried, while shards elect their leaders.
_ATTEMPTS: Final = 10
#: After these it may be repeated: rows are made so that it does not matter how often.
_PASSING: Final = (UnavailableError, OutcomeUnknownError)


async def insist(make: Callable[[], Awaitable[T]]) -> T:
    """Return what is made, at a later attempt if a shard has no leader at first."""
    for _ in range(_ATTEMPTS - 1):
        with suppress(*_PASSING):
            return await make()
        await asyncio.sleep(_AGAIN_S)
    return await make()


class Pace:
    """Limits the turns per second; missed turns are not made up for."""

    def __init__(self, per_s: float) -> None:
        self._gap_s: Final = 1 / per_s
        self._next_at = 0.0

    async def turn(self) -> None:
        """Wait for the next turn."""
        now = asyncio.get_running_loop().time()
        at = max(now, self._next_at)
        self._next_at = at + self._gap_s
        await asyncio.sleep(at - now)


@dataclass(eq=False)
class Play:
    """The parts while they run."""

    _parts: Mapping[str, Part]
    _pace: Pace
    _tell: Callable[[str, str], None]
    _warn: Callable[[str], None]
    #: All parts have made their rows, and the load may begin.
    _begun: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _made: int = field(default=0, init=False)
    #: The turns of all parts that were taken.
    steps: int = field(default=0, init=False)

    async def run(
        self, q: AsyncClient, scene: DemoScene, seconds: float | None, ready: Callable[[], None]
    ) -> None:
        """Have all parts make their rows, then load the cluster for so long, or for ever."""
        async with asyncio.TaskGroup() as group:
            playing = [
                group.create_task(self._play(name, part, q, scene))
                for name, part in self._parts.items()
            ]
            await self._begun.wait()
            ready()
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await asyncio.Event().wait()
            for each in playing:
                each.cancel()

    async def _play(self, name: str, part: Part, q: AsyncClient, scene: DemoScene) -> None:
        """Play a part; from a failure on it begins anew, once its rows were made."""

        async def first() -> tuple[AsyncGenerator[str, None], str]:
            steps = part(q, scene)
            return steps, await anext(steps)

        steps, what = await insist(first)
        self._tell(name, what)
        self._made += 1
        if self._made == len(self._parts):
            self._begun.set()
        while True:
            try:
                async with aclosing(steps):
                    await self._begun.wait()
                    while True:
                        await self._pace.turn()
                        await anext(steps)
                        self.steps += 1
            except QuorateError as error:
                self._warn(f"{name}: {error}; it goes on")
            await asyncio.sleep(_AGAIN_S)
            steps = part(q, scene)
