"""Concurrent reads of many coroutines that share calls, as commands do."""

from __future__ import annotations

import asyncio
from asyncio import Future, Task
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Generic, TypeVar

from quorate.client import QuorateError

Q = TypeVar("Q")
A = TypeVar("A")

#: Maximum number of concurrent calls; questions that come meanwhile share the next call.
CALLS: Final = 3


class SharedCalls(Generic[Q, A]):
    """Batches questions into calls of at most `most`, and answers each in its place."""

    def __init__(
        self, call: Callable[[Sequence[Q]], Awaitable[Sequence[A | QuorateError]]], most: int
    ) -> None:
        self._call: Final = call
        self._most: Final = most
        self._queue: list[tuple[Q, Future[A]]] = []
        self._calls: Final[set[Task[None]]] = set()

    def ask(self, question: Q) -> Future[A]:
        """Ask, in one call with all questions of the same turn of the loop."""
        loop = asyncio.get_running_loop()
        answer: Future[A] = loop.create_future()
        self._queue.append((question, answer))
        if len(self._queue) == 1:
            loop.call_soon(self._send)
        return answer

    def _send(self) -> None:
        while self._queue and len(self._calls) < CALLS:
            part, self._queue = self._queue[: self._most], self._queue[self._most :]
            call = asyncio.get_running_loop().create_task(self._carry_out(part))
            self._calls.add(call)
            call.add_done_callback(self._ended)

    def _ended(self, call: Task[None]) -> None:
        self._calls.discard(call)
        self._send()

    async def _carry_out(self, part: Sequence[tuple[Q, Future[A]]]) -> None:
        answers: Sequence[A | QuorateError]
        try:
            answers = await self._call([question for question, _ in part])
        except QuorateError as error:
            answers = [error] * len(part)
        except BaseException as error:
            for _, waiting in part:
                if not waiting.done():
                    waiting.set_exception(error)
            raise
        for (_, waiting), answer in zip(part, answers, strict=True):
            if waiting.done():
                continue
            if isinstance(answer, QuorateError):
                waiting.set_exception(answer)
            else:
                waiting.set_result(answer)
