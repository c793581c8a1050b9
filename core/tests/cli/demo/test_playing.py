from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import cast

import pytest
from quorate.cli.demo import playing
from quorate.cli.demo.playing import Pace, Part, Play
from quorate.client import AsyncClient, InvalidError, UnavailableError
from quorate.plugin.advanced import DemoScene

#: No part here asks anything.
NOBODY = cast("AsyncClient", None)
SCENE = DemoScene(tenants=("a", "b"), brokers={})


class Told:
    """What the parts have told, in its order."""

    def __init__(self, **parts: Part) -> None:
        self.lines: list[str] = []
        self.play = Play(parts, Pace(1_000), self.made, self.warned)

    def made(self, part: str, what: str) -> None:
        self.lines.append(f"{part} made {what}")

    def warned(self, sentence: str) -> None:
        self.lines.append(f"warning: {sentence}")

    async def run(self, seconds: float | None) -> None:
        await self.play.run(NOBODY, SCENE, seconds, lambda: self.lines.append("ready"))


async def test_the_load_begins_when_all_parts_have_made_their_rows() -> None:
    first = asyncio.Event()

    async def quick(_: AsyncClient, scene: DemoScene) -> AsyncGenerator[str, None]:
        yield f"rows of {', '.join(scene.tenants)}"
        first.set()
        told.lines.append("step")
        yield ""

    async def slow(_: AsyncClient, __: DemoScene) -> AsyncGenerator[str, None]:
        for _turn in range(10):
            await asyncio.sleep(0)
        yield "more"
        await asyncio.Event().wait()
        yield ""

    told = Told(quick=quick, slow=slow)
    running = asyncio.create_task(told.run(None))
    await first.wait()
    await asyncio.sleep(0)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)

    assert told.lines[:4] == ["quick made rows of a, b", "slow made more", "ready", "step"]


async def test_a_part_that_fails_under_load_begins_anew() -> None:
    lives: list[int] = []
    again = asyncio.Event()

    async def failing(_: AsyncClient, __: DemoScene) -> AsyncGenerator[str, None]:
        lives.append(len(lives))
        if len(lives) > 1:
            again.set()
        yield "rows"
        raise UnavailableError("no majority")

    told = Told(failing=failing)
    running = asyncio.create_task(told.run(None))
    await again.wait()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)

    warned = "warning: failing: no majority; it goes on"
    assert told.lines[:3] == ["failing made rows", "ready", warned]
    # It says only once what it has made.
    assert told.lines.count("failing made rows") == 1


async def test_a_part_that_cannot_make_its_rows_ends_all() -> None:
    async def failing(_: AsyncClient, scene: DemoScene) -> AsyncGenerator[str, None]:
        if scene.tenants:
            raise InvalidError("name", "too long")
        yield ""

    with pytest.raises(ExceptionGroup) as failed:
        await Told(failing=failing).run(0)
    assert failed.group_contains(InvalidError)


async def test_rows_are_made_at_a_later_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(playing, "_AGAIN_S", 0)
    attempts: list[int] = []

    async def electing(_: AsyncClient, __: DemoScene) -> AsyncGenerator[str, None]:
        attempts.append(len(attempts))
        if len(attempts) < 3:
            raise UnavailableError("no leader")
        while True:
            yield "rows"

    told = Told(electing=electing)
    await told.run(0)

    assert (told.lines, len(attempts)) == (["electing made rows", "ready"], 3)


async def test_what_a_part_holds_it_lets_go_of() -> None:
    held = ["lock"]

    async def holding(_: AsyncClient, __: DemoScene) -> AsyncGenerator[str, None]:
        try:
            while True:
                yield "rows"
        finally:
            held.clear()

    told = Told(holding=holding)
    await told.run(0)

    assert (told.lines, held) == (["holding made rows", "ready"], [])


async def test_turns_are_apart_and_none_is_made_up_for() -> None:
    pace = Pace(100)

    async def turns() -> AsyncGenerator[float, None]:
        while True:
            await pace.turn()
            yield time.monotonic()

    async with aclosing(turns()) as first, aclosing(turns()) as second:
        began = await anext(first)
        await anext(second)
        assert await anext(first) - began >= 0.019
        await asyncio.sleep(0.05)
        late = await anext(second)
        assert await anext(first) - late >= 0.009
