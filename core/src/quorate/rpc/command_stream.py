"""One stream of commands: reads them, awaits their answers, and writes the answers."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Final, NamedTuple

from quorate.config.sections import LimitsSection
from quorate.shards.router import Answer
from quorate.shards.routing.requests import Answered
from quorate.v1.command_pb2 import Command, CommandAnswer, NumberedAnswer, StreamResponse

#: About how many bytes of answers go into one message.
RESPONSE_BYTES: Final = 1 << 20

#: Hands on the commands of a message, each with the receiver of its answer.
Put = Callable[[Iterable[tuple[Command, Answered]]], None]
#: Makes the answer to a command, as its client gets it.
ToAnswer = Callable[[Command, Answer | Exception], CommandAnswer]
Write = Callable[[StreamResponse], Awaitable[None]]


class _Ended(NamedTuple):
    number: int
    size: int
    command: Command
    answer: Answer | Exception


@dataclass(eq=False)
class CommandStream:
    """Stops reading while the commands not yet answered and written reach the bounds of `[limits]`.

    A message counts as a whole: the last one that is read may exceed the bounds.
    """

    _put: Put
    _to_answer: ToAnswer
    _limits: LimitsSection
    _numbered: int = 0
    #: Commands that were read, and their answers not yet written.
    _open: int = 0
    _open_bytes: int = 0
    _ended: deque[_Ended] = field(default_factory=deque)
    _over: bool = False
    #: Set when the reader has room, or the writer has news.
    _room: asyncio.Event = field(default_factory=asyncio.Event)
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    async def read(self, messages: AsyncIterator[Iterable[Command]]) -> None:
        """Put the commands of all messages; raises the errors of reading them."""
        try:
            async for commands in messages:
                self._take(commands)
                while not self._has_room():
                    self._room.clear()
                    await self._room.wait()
        finally:
            self._over = True
            self._news.set()

    async def write(self, write: Write) -> None:
        """Write answers as they come, many in a message, until all that was read is answered."""
        while True:
            while self._ended:
                response, count, size = self._next_response()
                await write(response)
                self._open -= count
                self._open_bytes -= size
                self._room.set()
            if self._over and not self._open:
                return
            self._news.clear()
            await self._news.wait()

    def _take(self, commands: Iterable[Command]) -> None:
        taken: list[tuple[Command, Answered]] = []
        for command in commands:
            size = len(command.payload)
            end = partial(self._end, self._numbered, size, command)
            taken.append((command, end))
            self._numbered += 1
            self._open += 1
            self._open_bytes += size
        self._put(taken)

    def _end(self, number: int, size: int, command: Command, answer: Answer | Exception) -> None:
        self._ended.append(_Ended(number, size, command, answer))
        self._news.set()

    def _has_room(self) -> bool:
        limits = self._limits
        return self._open < limits.stream_commands and self._open_bytes < limits.stream_bytes

    def _next_response(self) -> tuple[StreamResponse, int, int]:
        """Return a message of answers, and the number and bytes of the commands that it answers."""
        answers: list[NumberedAnswer] = []
        room, size = RESPONSE_BYTES, 0
        while self._ended and room > 0:
            ended = self._ended.popleft()
            answer = NumberedAnswer(
                number=ended.number, answer=self._to_answer(ended.command, ended.answer)
            )
            answers.append(answer)
            size += ended.size
            room -= answer.ByteSize()
        return StreamResponse(answers=answers), len(answers), size
