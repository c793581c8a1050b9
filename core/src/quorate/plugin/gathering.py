"""Carries out together what several callers ask for at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Iterator, Sequence
from contextvars import Context
from typing import Final, Generic, TypeVar

R = TypeVar("R")
A = TypeVar("A")


class Gathering(Generic[R, A]):
    """Requests of one kind and one turn of the loop, which `carry_out` answers in their order.

    They are carried out outside of a call: `NodeApi` then acts as the node itself, which may do
    everything, and without the deadline of a caller. Check what each caller may do before `add`.

    At most `most` go together, by the sum of their weights. The loop defaults to that of the first.
    """

    def __init__(
        self,
        carry_out: Callable[[Sequence[R]], Awaitable[Sequence[A | BaseException]]],
        most: int,
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        self._carry_out: Final = carry_out
        self._most: Final = most
        #: By their kinds.
        self._arrived: dict[Hashable, list[tuple[R, int, asyncio.Future[A]]]] = {}
        self._running: Final[set[asyncio.Task[None]]] = set()
        self._loop = loop

    @property
    def is_busy(self) -> bool:
        """Whether it holds a request, or carries one out."""
        return bool(self._arrived or self._running)

    def add(self, request: R, weight: int, kind: Hashable = None) -> asyncio.Future[A]:
        """Return the answer to a request, or its failure.

        The requests that it goes with do not depend on its caller: they go on when it leaves.
        """
        loop = self._loop
        if loop is None:
            loop = self._loop = asyncio.get_running_loop()
        if not self._arrived:
            # The deadline of one caller is not that of the others.
            loop.call_soon(self._begin, context=Context())
        future: asyncio.Future[A] = loop.create_future()
        self._arrived.setdefault(kind, []).append((request, weight, future))
        return future

    def _begin(self) -> None:
        loop = asyncio.get_running_loop()
        arrived, self._arrived = self._arrived, {}
        for of_kind in arrived.values():
            for part in self._parts(of_kind):
                task = loop.create_task(self._run(part))
                self._running.add(task)
                task.add_done_callback(self._running.discard)

    def _parts(
        self, arrived: Sequence[tuple[R, int, asyncio.Future[A]]]
    ) -> Iterator[list[tuple[R, asyncio.Future[A]]]]:
        part: list[tuple[R, asyncio.Future[A]]] = []
        room = self._most
        for request, weight, future in arrived:
            if part and weight > room:
                yield part
                part, room = [], self._most
            part.append((request, future))
            room -= weight
        yield part

    async def _run(self, part: Sequence[tuple[R, asyncio.Future[A]]]) -> None:
        answers: Sequence[A | BaseException]
        try:
            answers = await self._carry_out([request for request, _ in part])
            if len(answers) != len(part):
                # Of another number of answers nobody knows which is whose.
                raise ValueError(f"{len(answers)} answers to {len(part)} requests")
        except asyncio.CancelledError:
            # The node stops, and nothing else would end them.
            for _, future in part:
                future.cancel()
            raise
        except Exception as error:  # noqa: BLE001 - it is the answer to each
            answers = [error] * len(part)
        for (_, future), answer in zip(part, answers, strict=True):
            if future.done():
                # Its caller has left.
                continue
            if isinstance(answer, BaseException):
                future.set_exception(answer)
            else:
                future.set_result(answer)
