"""The stream on which a node forwards to another one: many runs of commands a message."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final

from quorate.apply.entries import LoggedCommand
from quorate.apply.outcomes import Outcome, Refusal
from quorate.http2.grpc.call_errors import CallError
from quorate.plugin import Rejected
from quorate.plugin.shard_id import ShardId
from quorate.rpc.channels import ADMITTED_KEY, NodeChannels, UnreachableError
from quorate.rpc.status import error_of
from quorate.shards.refusals import (
    NotProposedError,
    NotProposedInTimeError,
    OutcomeUnknownError,
    UnansweredInTimeError,
)
from quorate.shards.routing.forwarding import weight
from quorate.shards.routing.proposing import Result
from quorate.shards.timing import end
from quorate.v1 import entry_pb2, node_pb2

#: Time for a node to admit this one; an unreachable node is detected earlier.
_ADMISSION_S: Final = 5.0
#: Extra time for an answer after its command's deadline: the other node knows the cause best.
GRACE_S: Final = 0.2


@dataclass(eq=False, slots=True)
class ForwardedRun:
    """Commands for one shard, which stay together and in their order."""

    shard: ShardId
    commands: Sequence[LoggedCommand]
    #: On the loop's clock.
    deadlines: Sequence[float]
    #: Set when every command has its result, or its caller has stopped waiting.
    answer: asyncio.Future[None]
    #: It may have left this node.
    sent: bool = False
    #: The name of the span in which it is forwarded; "": it is not traced.
    span: str = ""
    #: Its approximate number of bytes in a message.
    weight: int = field(init=False)
    results: list[Result | None] = field(init=False)
    open: int = field(init=False)

    def __post_init__(self) -> None:
        self.weight = sum([weight(each) for each in self.commands])
        self.open = len(self.commands)
        self.results = [None] * self.open

    def settle(self, place: int, result: Result) -> None:
        """Take the result of a command; the first one counts."""
        if self.results[place] is not None:
            return
        self.results[place] = result
        self.open -= 1
        if not self.open and not self.answer.done():
            self.answer.set_result(None)

    def settle_all(self, error: Exception) -> None:
        """End every command without a result with an error."""
        for place in range(len(self.commands)):
            self.settle(place, error)

    def expire(self, now: float) -> None:
        """End late commands: sent ones get `GRACE_S` more, and are then in doubt."""
        grace_s = GRACE_S if self.sent else 0.0
        for place, deadline in enumerate(self.deadlines):
            if deadline + grace_s <= now:
                self.settle(place, self._late(place))

    @property
    def due(self) -> float:
        """When the next of its commands is late."""
        grace_s = GRACE_S if self.sent else 0.0
        return grace_s + min(
            [
                deadline
                for deadline, result in zip(self.deadlines, self.results, strict=True)
                if result is None
            ],
            default=float("inf"),
        )

    def _late(self, place: int) -> Exception:
        name = self.commands[place].type
        if self.sent:
            return UnansweredInTimeError(
                f"the deadline passed before {name} was answered by the leader of shard"
                f" {self.shard}: it may still be carried out; read whether it was, or repeat it"
                " with its session"
            )
        return NotProposedInTimeError(
            f"the deadline passed before {name} was sent to the leader of shard {self.shard}: try"
            " again"
        )


@dataclass(eq=False)
class ForwardStream:
    """Made anew when there is something to send and it has ended. Nothing is sent twice.

    A run is in doubt from the moment in which it is handed to gRPC, and not before.
    """

    _node: str
    _channels: NodeChannels
    _loop: asyncio.AbstractEventLoop
    _message_bytes: int
    _waiting: deque[ForwardedRun] = field(default_factory=deque)
    #: What was sent and is not answered, by its id, and which of its commands went.
    _sent: dict[int, tuple[ForwardedRun, list[int]]] = field(default_factory=dict)
    _ids: Iterator[int] = field(default_factory=lambda: count(1))
    _news: asyncio.Event = field(default_factory=asyncio.Event)
    _running: asyncio.Task[None] | None = None

    def put(self, run: ForwardedRun) -> None:
        """Send a run; those of one turn of the loop share a message."""
        self._waiting.append(run)
        self._news.set()
        if self._running is None:
            self._running = self._loop.create_task(self._run())

    def runs(self) -> Iterator[ForwardedRun]:
        """Yield the waiting runs, and the sent ones without an answer."""
        yield from self._waiting
        yield from [run for run, _ in self._sent.values()]

    async def _run(self) -> None:
        error: Exception = NotProposedError(f"{self._node} was not sent a command")
        broken = OutcomeUnknownError(f"the stream to {self._node} ended under a command")
        again = False
        try:
            route = await self._channels.route(self._node, _ADMISSION_S)
            call: Any = route.stub.Forward(metadata=route.metadata)
            try:
                async with asyncio.timeout(_ADMISSION_S):
                    # Who is refused learns it here, before anything is sent.
                    if ADMITTED_KEY not in dict(await call.initial_metadata()):
                        # It ends with why.
                        await call.read()
                        raise UnreachableError(f"{self._node} takes no forwarded commands")
                again = True
                await self._converse(call)
            except asyncio.CancelledError:
                # The channel was closed under it: this node stops, or finds the other elsewhere.
                again = False
                raise
            finally:
                call.cancel()
        except UnreachableError as failed:
            error = NotProposedError(f"{failed}; nothing was proposed")
        except TimeoutError:
            error = NotProposedError(f"{self._node} let no stream in; nothing was proposed")
        except CallError as failed:
            why = failed.details()
            error = NotProposedError(f"{self._node} takes no forwarded commands: {why}")
            broken = OutcomeUnknownError(f"the stream to {self._node} broke under a command: {why}")
        finally:
            sent = list(self._sent.values())
            self._sent.clear()
            for run, _ in sent:
                run.settle_all(broken)
            self._running = None
            if again and self._waiting:
                self._running = self._loop.create_task(self._run())
            else:
                while self._waiting:
                    self._waiting.popleft().settle_all(error)

    async def _converse(self, call: Any) -> None:
        writing = self._loop.create_task(self._write(call))
        try:
            async for response in call:
                self._take(response)
        finally:
            await end(writing)

    async def _write(self, call: Any) -> None:
        while True:
            self._news.clear()
            while (request := self._next_request()) is not None:
                try:
                    await call.write(request)
                except (asyncio.InvalidStateError, CallError):
                    # The reader hears why.
                    return
            await self._news.wait()

    def _next_request(self) -> node_pb2.ForwardRequest | None:
        """Take the runs that share the next message: a run is never split."""
        now = self._loop.time()
        request = node_pb2.ForwardRequest()
        size = 0
        while self._waiting:
            run = self._waiting[0]
            run.expire(now)
            if run.answer.done():
                self._waiting.popleft()
                continue
            size += run.weight
            if request.parts and size > self._message_bytes:
                break
            self._waiting.popleft()
            run.sent = True
            number = next(self._ids)
            # An expired command was answered "not proposed", and must not be proposed.
            places = [place for place, result in enumerate(run.results) if result is None]
            self._sent[number] = (run, places)
            sent = request.parts.add(id=number, shard=str(run.shard), span=run.span)
            for place in places:
                command = run.commands[place]
                sent.commands.add(
                    command=_logged(command),
                    caller=command.caller,
                    admitted=command.admitted,
                    request=command.request,
                    timeout_ms=max(0, round((run.deadlines[place] - now) * 1_000)),
                )
        return request if request.parts else None

    def _take(self, response: node_pb2.ForwardResponse) -> None:
        for answered in response.parts:
            run, places = self._sent.pop(answered.id, (None, ()))
            if run is None:
                continue
            for place, answer in zip(places, answered.answers, strict=False):
                run.settle(place, _settled(self._node, run.shard, answer))
            run.settle_all(
                OutcomeUnknownError(f"{self._node} was sent a command and gave no answer to it")
            )


def _logged(command: LoggedCommand) -> entry_pb2.LoggedCommand:
    stamp = command.stamp
    return entry_pb2.LoggedCommand(
        type=command.type,
        payload=command.payload,
        slots=command.slots,
        stamp=None if stamp is None else entry_pb2.Stamp(**stamp._asdict()),
        slotless=command.slotless,
        fence=None if command.fence is None else entry_pb2.Fence(**command.fence._asdict()),
    )


def _settled(node: str, shard: ShardId, answer: node_pb2.ForwardAnswer) -> Result:
    match answer.WhichOneof("result"):
        case "outcome":
            found = answer.outcome
            refusal = found.refusal if found.HasField("refusal") else None
            return Outcome(
                found.revision,
                found.reply,
                None if refusal is None else Refusal(refusal.code, refusal.message),
                found.forgotten,
            )
        case "status":
            error = error_of(answer.status, shard)
            if not isinstance(error, Rejected):
                return error
            # No refusal of a handler: something broke there, before or after it was logged.
            return OutcomeUnknownError(f"{node} failed with a command: {error}")
    return OutcomeUnknownError(f"{node} gave an answer that cannot be read")
