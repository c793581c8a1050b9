"""The one hop of commands and queries to other nodes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, NoReturn

from quorate.apply.entries import LoggedCommand
from quorate.config.sections import LimitsSection
from quorate.http2.grpc.call_errors import CallError
from quorate.http2.grpc.codes import Code
from quorate.observe import requests
from quorate.plugin.shard_id import ShardId
from quorate.rpc.channels import NodeChannels, UnreachableError
from quorate.rpc.forward_stream import GRACE_S, ForwardedRun, ForwardStream
from quorate.rpc.status import error_in
from quorate.shards.refusals import (
    ReadTimeoutError,
    UnreadableError,
)
from quorate.shards.routing.forwarding import (
    AsOf,
    ForwardedAnswers,
    ForwardedQuery,
    run_bytes,
)
from quorate.shards.routing.proposing import Result
from quorate.shards.shard.capacity import Admission
from quorate.shards.shard.settings import ShardSettings
from quorate.shards.timing import Alarm
from quorate.v1 import node_pb2

if TYPE_CHECKING:
    from quorate.observe.traces import Span, Traces

#: What may be on its way to one node for one shard, or wait for that: as much as the shard takes.
ROOM_BYTES: Final = ShardSettings().queue_bytes
ROOM_COMMANDS: Final = ShardSettings().queue_commands


class NodeForwarder:
    """Implements `Forwarder` over one stream to each node, and a call for each query.

    What is too much for a shard's queue is not taken here either.
    """

    def __init__(
        self,
        channels: NodeChannels,
        loop: asyncio.AbstractEventLoop,
        limits: LimitsSection,
        traces: Traces | None = None,
    ) -> None:
        self._traces: Final = traces
        self._channels: Final = channels
        self._loop: Final = loop
        self._message_bytes: Final = run_bytes(limits)
        self._streams: Final[dict[str, ForwardStream]] = {}
        self._rooms: Final[dict[tuple[str, ShardId], Admission]] = {}
        self._patience: Final = Alarm(loop, self._expire)

    async def propose(
        self,
        node: str,
        shard: ShardId,
        commands: Sequence[LoggedCommand],
        deadlines: Sequence[float],
    ) -> Sequence[Result]:
        """Have the leader propose commands of one shard, and return the outcome of each."""
        room = self._room(node, shard)
        answer = self._loop.create_future()
        run = ForwardedRun(shard, commands, deadlines, answer)
        room.admit(run.weight, len(commands))
        # All of them came with one call.
        span = self._span(commands[0].span, node, shard) if self._traces else None
        if span is not None:
            run.span = span.name
        try:
            stream = self._streams.get(node)
            if stream is None:
                stream = self._streams[node] = ForwardStream(
                    node, self._channels, self._loop, self._message_bytes
                )
            stream.put(run)
            if (due := run.due) < self._patience.due:
                self._patience.by(due)
            await answer
        finally:
            room.release(run.weight, len(commands))
            if span is not None:
                span.end(failure=_failure(run.results))
        return [each for each in run.results if each is not None]

    async def query(self, node: str, request: ForwardedQuery) -> ForwardedAnswers:
        """Have a replica answer a query."""
        asked = node_pb2.ShardQueryRequest(
            shard=str(request.shard),
            type=request.type,
            payload=request.payload,
            row=request.row,
            stale=request.consistency == "stale",
            min_revision=request.min_revision,
            timeout_ms=max(0, round(request.timeout_s * 1_000)),
            slots_version=request.slots_version,
        )
        if (by := request.asked) is not None:
            asked.caller, asked.method = by.caller, by.method
            asked.request = b"" if by.request is None else by.request.SerializeToString()
        span = self._span(requests.origin()[1], node, request.shard) if self._traces else None
        rows: list[bytes] = []
        as_of: AsOf | None = None
        failure = "unread"
        try:
            route = await self._channels.route(node, request.timeout_s)
            timeout_s = request.timeout_s + GRACE_S
            named = () if span is None else ((requests.SPAN_KEY, span.name),)
            metadata = (*route.metadata, *named)
            async for part in route.stub.Query(asked, timeout=timeout_s, metadata=metadata):
                as_of = AsOf(part.revision, part.age_ms, part.published)
                rows += part.rows
            failure = "unread" if as_of is None else ""
        except UnreachableError as error:
            raise UnreadableError(str(error)) from None
        except CallError as error:
            _raise_unread(node, request.shard, error)
        finally:
            if span is not None:
                span.end(failure=failure)
        if as_of is None:
            raise UnreadableError(f"{node} closed the response without data")
        return ForwardedAnswers(as_of, rows)

    def _span(self, parent: str, node: str, shard: ShardId) -> Span | None:
        if self._traces is None or not parent:
            return None
        return self._traces.begin("forward", "client", parent=parent, node=node, shard=str(shard))

    def _room(self, node: str, shard: ShardId) -> Admission:
        room = self._rooms.get((node, shard))
        if room is None:
            room = self._rooms[node, shard] = Admission(
                f"the queue to {node} for shard {shard}",
                max_bytes=ROOM_BYTES,
                max_count=ROOM_COMMANDS,
            )
        return room

    def _expire(self, now: float) -> float | None:
        again = float("inf")
        for stream in self._streams.values():
            for run in stream.runs():
                if not run.answer.done():
                    run.expire(now)
                    again = min(again, run.due)
        return again if again < float("inf") else None


def _failure(results: Iterable[Result | None]) -> str:
    for each in results:
        if each is None:
            return "unanswered"
        if isinstance(each, Exception):
            return type(each).__name__
    return ""


def _raise_unread(node: str, shard: ShardId, error: CallError) -> NoReturn:
    if (sent := error_in(error, shard)) is not None:
        raise sent from None
    if error.code() is Code.DEADLINE_EXCEEDED:
        raise ReadTimeoutError(f"the deadline passed before {node} answered a query") from None
    raise UnreadableError(f"{node} did not answer a query: {error.details()}") from None
