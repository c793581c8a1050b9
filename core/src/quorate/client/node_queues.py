"""Queues of commands, one per node: concurrent commands share a call."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Final

from quorate.client import failures
from quorate.client.connections import Connections
from quorate.client.errors import (
    ClosedError,
    DeadlineError,
    InvalidError,
    OutcomeUnknownError,
)
from quorate.client.failures import AttemptError
from quorate.v1.command_pb2 import CommandReply, ExecuteRequest, ExecuteResponse
from quorate.v1.entry_pb2 import Stamp

if TYPE_CHECKING:
    from opentelemetry.trace import Span

    from quorate.plugin import Fence

#: Limits of one call; a larger command goes alone.
MOST_COMMANDS: Final = 1_000
MOST_BYTES: Final = 1 << 20
#: Maximum number of calls in flight per queue; later commands wait for one to end.
CALLS: Final = 3
#: Commands that wait are divided over the free calls, unless they are fewer than this.
FEW_COMMANDS: Final = 100

#: Share of the remaining time given to the node, so that its answer arrives in time.
_NODE_SHARE: Final = 0.9
_LATEST_MARGIN_S: Final = 0.25
#: What a command has beside its payload, about.
_HEAD_BYTES: Final = 64

_METHOD: Final = "/quorate.v1.CommandService/Execute"
#: Of several commands, so that no large reply delays the others.
_SPLIT: Final = "/quorate.v1.CommandService/ExecuteSplit"


@dataclass(slots=True, eq=False)
class PendingCommand:
    """A command in a queue, and the future of its answer."""

    name: str
    payload: bytes
    stamp: Stamp | None
    fence: Fence | None
    deadline: float
    answer: asyncio.Future[CommandReply]
    span: Span | None


@dataclass(slots=True, eq=False)
class NodeCall:
    """The commands of one call."""

    commands: Sequence[PendingCommand]
    #: Whether it may have reached the node.
    left: bool = False


class NodeQueue:
    """The queue of commands to one node.

    A command leaves at once when fewer than `CALLS` calls are under way, together with all that
    came in the same turn of the loop.
    """

    def __init__(
        self, address: str, connections: Connections, loop: asyncio.AbstractEventLoop
    ) -> None:
        self._address: Final = address
        self._connections: Final = connections
        self._loop: Final = loop
        self._most = MOST_COMMANDS
        self._waiting: list[PendingCommand] = []
        self._under_way: Final[dict[asyncio.Task[None], NodeCall]] = {}
        self._flushing = False
        self._closed = False
        #: The first deadline, and the timer that checks it.
        self._first = float("inf")
        self._timer: asyncio.TimerHandle | None = None

    def send(
        self,
        name: str,
        payload: bytes,
        stamp: Stamp | None,
        deadline: float,
        fence: Fence | None = None,
    ) -> asyncio.Future[CommandReply]:
        """Take a command; its future ends in the reply, or in `AttemptError`."""
        answer: asyncio.Future[CommandReply] = self._loop.create_future()
        if self._closed:
            answer.set_exception(ClosedError())
            return answer
        traces = self._connections.traces
        span = None if traces is None else traces.current()
        self._waiting.append(PendingCommand(name, payload, stamp, fence, deadline, answer, span))
        if deadline < self._first:
            self._look_at(deadline)
        if not self._flushing and len(self._under_way) < CALLS:
            self._flushing = True
            self._loop.call_soon(self._flush)
        return answer

    async def close(self) -> None:
        """Refuse further commands, and fail all that wait."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        calls = list(self._under_way)
        for sent in (
            *self._waiting,
            *(each for part in self._under_way.values() for each in part.commands),
        ):
            if not sent.answer.done():
                sent.answer.set_exception(ClosedError())
        self._waiting = []
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)

    def _flush(self) -> None:
        self._flushing = False
        while self._waiting and len(self._under_way) < CALLS and not self._closed:
            part = NodeCall(self._next())
            if part.commands:
                call = self._loop.create_task(self._call(part))
                self._under_way[call] = part
                call.add_done_callback(self._ended)

    def _next(self) -> list[PendingCommand]:
        """Take the commands of one call, without cancelled ones.

        Many are divided evenly over the free calls, so that a node works on one call while the
        answers of another are on their way. In one call all of them would wait for each step.
        """
        free = CALLS - len(self._under_way)
        most = min(self._most, max(FEW_COMMANDS, ceil(len(self._waiting) / free)))
        part: list[PendingCommand] = []
        size = taken = 0
        for sent in self._waiting:
            size += len(sent.payload) + _HEAD_BYTES
            if part and (len(part) == most or size > MOST_BYTES):
                break
            taken += 1
            if not sent.answer.done():
                part.append(sent)
        del self._waiting[:taken]
        return part

    def _ended(self, call: asyncio.Task[None]) -> None:
        del self._under_way[call]
        if self._waiting and not self._flushing:
            self._flushing = True
            self._loop.call_soon(self._flush)

    async def _call(self, part: NodeCall) -> None:
        try:
            connection = self._connections.to(self._address)
            await connection.stands(
                max(sent.deadline for sent in part.commands) - self._loop.time()
            )
            part.left = True
            now = self._loop.time()
            request, latest_s = ExecuteRequest(), 0.001
            for sent in part.commands:
                left_s = sent.deadline - now
                if left_s > latest_s:
                    latest_s = left_s
                node_s = max(left_s * _NODE_SHARE, left_s - _LATEST_MARGIN_S)
                command = request.commands.add(
                    type=sent.name, payload=sent.payload, timeout_ms=max(1, int(node_s * 1_000))
                )
                if sent.stamp is not None:
                    command.stamp.CopyFrom(sent.stamp)
                if sent.fence is not None:
                    command.fence.name, command.fence.token = sent.fence
            span, traces = "", self._connections.traces
            if traces is not None:
                span = traces.shared([sent.span for sent in part.commands])
            if len(part.commands) == 1:
                response = await connection.call(_METHOD, request, ExecuteResponse, latest_s, span)
                answers = list(response.answers)
            else:
                parts = connection.stream(_SPLIT, request, ExecuteResponse, latest_s, span)
                answers = [answer async for each in parts for answer in each.answers]
        except AttemptError as failure:
            self._failed(part, failure)
        except ClosedError as error:
            _fail(part, error)
        else:
            count = len(answers)
            if count != len(part.commands):
                self._failed(part, _miscounted(self._address, count, len(part.commands)))
                return
            for sent, answer in zip(part.commands, answers, strict=True):
                if sent.answer.done():
                    continue
                if answer.HasField("reply"):
                    sent.answer.set_result(answer.reply)
                else:
                    sent.answer.set_exception(failures.of_status(answer.status))

    def _failed(self, part: NodeCall, failure: AttemptError) -> None:
        if isinstance(failure.error, InvalidError) and len(part.commands) > 1:
            # It is about the call and no command of it: this node takes smaller ones.
            self._most = len(part.commands) // 2
            self._waiting[:0] = part.commands
        else:
            _fail(part, failure)

    def _look_at(self, deadline: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._first = deadline
        self._timer = self._loop.call_at(deadline, self._expire)

    def _expire(self) -> None:
        """Fail commands after their deadline, sent or not."""
        now = self._loop.time()
        first = float("inf")
        waiting = [sent for sent in self._waiting if not sent.answer.done()]
        for sent in waiting:
            if sent.deadline <= now:
                sent.answer.set_exception(_not_sent(self._address))
            else:
                first = min(first, sent.deadline)
        self._waiting = [sent for sent in waiting if not sent.answer.done()]
        for part in self._under_way.values():
            for sent in part.commands:
                if sent.answer.done():
                    continue
                if sent.deadline <= now:
                    end = failures.unanswered if part.left else _not_sent
                    sent.answer.set_exception(end(self._address))
                else:
                    first = min(first, sent.deadline)
        self._first, self._timer = float("inf"), None
        if first < float("inf"):
            self._look_at(first)


def _fail(part: NodeCall, error: Exception) -> None:
    for sent in part.commands:
        if not sent.answer.done():
            sent.answer.set_exception(error)


def _not_sent(address: str) -> AttemptError:
    return AttemptError(
        "safe",
        DeadlineError(f"the deadline passed before {address} was asked; nothing was done"),
        unreachable=True,
    )


def _miscounted(address: str, answers: int, commands: int) -> AttemptError:
    return AttemptError(
        "unknown",
        OutcomeUnknownError(
            f"{address} gave {answers} answers to {commands} commands; they may be done, so read "
            "before trying again, and run the same release here and there"
        ),
    )


class NodeQueues:
    """The queues of all nodes, by address."""

    def __init__(self, connections: Connections) -> None:
        self._connections: Final = connections
        self._known: Final[dict[str, NodeQueue]] = {}
        self._closed = False

    def to(self, address: str) -> NodeQueue:
        """Return the queue of an address."""
        queue = self._known.get(address)
        if queue is None:
            if self._closed:
                raise ClosedError
            loop = asyncio.get_running_loop()
            queue = self._known[address] = NodeQueue(address, self._connections, loop)
        return queue

    async def close(self) -> None:
        """Close all of them."""
        self._closed = True
        await asyncio.gather(*(queue.close() for queue in self._known.values()))
