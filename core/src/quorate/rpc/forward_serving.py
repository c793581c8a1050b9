"""Serves the commands that another node forwards: proposes on arrival, answers on completion."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterable, Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Final

from quorate.apply.entries import Copies, LoggedCommand, Stamp
from quorate.observe import requests as call_ids
from quorate.plugin import Fence, Invalid
from quorate.plugin.shard_id import ShardId
from quorate.rpc.methods import failed_status
from quorate.shards.router import Router
from quorate.shards.routing.proposing import Result
from quorate.v1 import node_pb2

Write = Callable[[node_pb2.ForwardResponse], Awaitable[None]]

#: About how many bytes of answers go into one message.
_RESPONSE_BYTES: Final = 1 << 20


@dataclass(eq=False)
class ForwardServing:
    """Serves one stream. `refused` says why its node may forward no more; None: it may.

    `under_way` is entered for as long as commands of a message are carried out.
    """

    _router: Router
    _refused: Callable[[], Exception | None]
    _under_way: Callable[[], AbstractContextManager[None]]
    _answered: list[node_pb2.PartAnswer] = field(default_factory=list)
    _news: asyncio.Event = field(default_factory=asyncio.Event)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _over: bool = False

    async def serve(self, requests: AsyncIterable[node_pb2.ForwardRequest], write: Write) -> None:
        """Return once all requests are answered; open ones end with the stream."""
        call_ids.forget()
        reading = asyncio.create_task(self._read(requests))
        try:
            await self._write(write)
            await reading
        finally:
            reading.cancel()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(reading, *self._tasks, return_exceptions=True)

    async def _read(self, requests: AsyncIterable[node_pb2.ForwardRequest]) -> None:
        try:
            async for request in requests:
                if not request.parts:
                    raise Invalid("parts", "must not be empty")
                by_shard: defaultdict[str, list[node_pb2.ForwardedPart]] = defaultdict(list)
                for part in request.parts:
                    by_shard[part.shard].append(part)
                for shard, parts in by_shard.items():
                    # Tasks begin in the order in which they are made: so a shard gets its commands
                    # in the order in which they came.
                    task = asyncio.create_task(self._carry_out(shard, parts))
                    self._tasks.add(task)
                    task.add_done_callback(self._ended)
        finally:
            self._over = True
            self._news.set()

    async def _carry_out(self, shard: str, parts: Sequence[node_pb2.ForwardedPart]) -> None:
        with self._under_way():
            try:
                if (refused := self._refused()) is not None:
                    raise refused
                now = asyncio.get_running_loop().time()
                asked = [(each, part.span) for part in parts for each in part.commands]
                results: Sequence[Result] = await self._router.accept(
                    parsed_shard(shard),
                    [_logged(each, span) for each, span in asked],
                    [now + each.timeout_ms / 1_000 for each, _ in asked],
                )
            except Exception as error:  # noqa: BLE001 - it is the answer to each
                results = [error] * sum([len(part.commands) for part in parts])
            ended = iter(results)
            for part in parts:
                answered = node_pb2.PartAnswer(id=part.id)
                for command, result in zip(part.commands, ended, strict=False):
                    _fill(answered.answers.add(), command.command.type, result)
                self._answered.append(answered)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._news.set()

    async def _write(self, write: Write) -> None:
        while not self._over or self._tasks or self._answered:
            self._news.clear()
            while self._answered:
                await write(self._next_response())
            if not self._over or self._tasks:
                await self._news.wait()

    def _next_response(self) -> node_pb2.ForwardResponse:
        taken, size = 0, 0
        for answer in self._answered:
            if taken and size > _RESPONSE_BYTES:
                break
            size += answer.ByteSize()
            taken += 1
        response = node_pb2.ForwardResponse(parts=self._answered[:taken])
        del self._answered[:taken]
        return response


def parsed_shard(text: str, field: str = "shard") -> ShardId:
    """Return the shard of this name; raises `Invalid`."""
    try:
        return ShardId.parse(text)
    except ValueError as error:
        raise Invalid(field, str(error)) from None


def _logged(asked: node_pb2.ForwardedCommand, span: str) -> LoggedCommand:
    command = asked.command
    stamp = command.stamp
    return LoggedCommand(
        command.type,
        command.payload,
        tuple(command.slots),
        Stamp(stamp.session, stamp.sequence, stamp.lowest_unanswered)
        if command.HasField("stamp")
        else None,
        command.slotless,
        Copies.DOUBTED,
        Fence(command.fence.name, command.fence.token) if command.HasField("fence") else None,
        asked.caller,
        asked.admitted,
        asked.request,
        span,
    )


def _fill(answer: node_pb2.ForwardAnswer, command: str, result: Result) -> None:
    if isinstance(result, Exception):
        answer.status.CopyFrom(failed_status(f"command {command}", result))
        return
    outcome = answer.outcome
    outcome.SetInParent()
    outcome.revision, outcome.reply = result.revision, result.reply
    outcome.forgotten = result.forgotten
    if (refusal := result.refusal) is not None:
        outcome.refusal.code, outcome.refusal.message = refusal.code, refusal.message
        outcome.refusal.SetInParent()
