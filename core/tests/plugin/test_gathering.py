"""What clients ask for at the same time is carried out together, and answered one by one."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextvars import ContextVar

import pytest
from quorate.plugin.advanced import Gathering

_caller: ContextVar[str] = ContextVar("caller", default="none")


class Halves:
    """Halves even numbers, and fails as a whole for 13."""

    def __init__(self, most: int = 10) -> None:
        self.seen: list[tuple[str, list[int]]] = []
        self.gathering = Gathering(self._halves, most)
        self.open = asyncio.Event()
        self.open.set()

    async def _halves(self, numbers: Sequence[int]) -> Sequence[int | BaseException]:
        self.seen.append((_caller.get(), [*numbers]))
        await self.open.wait()
        if 13 in numbers:
            raise LookupError("13")
        return [each // 2 if each % 2 == 0 else ValueError(f"{each} is odd") for each in numbers]

    async def ask(self, number: int, weight: int = 1, kind: str = "") -> int:
        _caller.set(str(number))
        return await self.gathering.add(number, weight, kind)


async def test_requests_of_one_turn_go_together() -> None:
    halves = Halves()
    answers = await asyncio.gather(*map(halves.ask, (2, 4, 5)), return_exceptions=True)
    assert answers[:2] == [1, 2]
    assert isinstance(answers[2], ValueError)
    assert await halves.ask(8) == 4
    # They do not run with the deadline of the first caller.
    assert halves.seen == [("none", [2, 4, 5]), ("none", [8])]


async def test_so_much_goes_together() -> None:
    halves = Halves(most=5)
    weights = {2: 3, 4: 2, 6: 9, 8: 1}
    await asyncio.gather(*(halves.ask(number, weight) for number, weight in weights.items()))
    assert [numbers for _, numbers in halves.seen] == [[2, 4], [6], [8]]


async def test_kinds_do_not_mix() -> None:
    halves = Halves()
    asked = [halves.ask(number, kind=kind) for number, kind in ((2, "a"), (4, "b"), (6, "a"))]
    assert await asyncio.gather(*asked) == [1, 2, 3]
    assert [numbers for _, numbers in halves.seen] == [[2, 6], [4]]


async def test_a_failure_is_that_of_each() -> None:
    halves = Halves()
    answers = await asyncio.gather(halves.ask(2), halves.ask(13), return_exceptions=True)
    assert [type(each) for each in answers] == [LookupError, LookupError]


@pytest.mark.parametrize("answers", [[], [1], [1, 2, 3]])
async def test_another_number_of_answers_is_a_failure_of_each(answers: list[int]) -> None:
    async def answer(numbers: Sequence[int]) -> Sequence[int]:
        return answers

    gathering = Gathering[int, int](answer, 10)
    async with asyncio.timeout(10):
        asked = (gathering.add(2, 1), gathering.add(4, 1))
        found = await asyncio.gather(*asked, return_exceptions=True)
    assert [str(each) for each in found] == [f"{len(answers)} answers to 2 requests"] * 2


async def test_a_caller_that_leaves_takes_nothing_along() -> None:
    halves = Halves()
    halves.open.clear()
    leaving, staying = (asyncio.create_task(halves.ask(number)) for number in (2, 4))
    while not halves.seen:
        await asyncio.sleep(0)
    leaving.cancel()
    halves.open.set()
    assert await staying == 2
    with pytest.raises(asyncio.CancelledError):
        await leaving


async def test_requests_that_are_given_up_end() -> None:
    async def give_up(numbers: Sequence[int]) -> Sequence[int]:
        raise asyncio.CancelledError

    answers = [Gathering(give_up, 10).add(number, 1) for number in (2, 4)]
    async with asyncio.timeout(10):
        ended = await asyncio.gather(*answers, return_exceptions=True)
    assert [type(each) for each in ended] == [asyncio.CancelledError] * 2
