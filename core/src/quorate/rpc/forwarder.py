"""The one hop of commands and queries to other nodes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final, NoReturn

import grpc
import grpc.aio
from google.rpc import status_pb2

from quorate.apply.entries import LoggedCommand
from quorate.apply.outcomes import Outcome, Refusal
from quorate.config.sections import LimitsSection
from quorate.groups.alarm import Alarm
from quorate.groups.refusals import (
    NotProposedError,
    OutcomeUnknownError,
    ReadTimeoutError,
    UnansweredInTimeError,
    UnreadableError,
)
from quorate.groups.routing.forwarding import (
    AsOf,
    ForwardedAnswers,
    ForwardedCommand,
    ForwardedQuery,
    run_bytes,
)
from quorate.groups.routing.proposing import Result
from quorate.plugin import Rejected
from quorate.plugin.shard_id import ShardId
from quorate.rpc.bundles import GRACE_S, Bundle, Lane
from quorate.rpc.channels import NodeChannels, NoWayError
from quorate.rpc.status import DETAILS_KEY, error_of
from quorate.v1 import entry_pb2, node_pb2, node_pb2_grpc

#: Calls under way to a node for a shard; what comes meanwhile goes together when one has ended.
CALLS: Final = 2

#: With these the other node refused the whole call before it looked at any command.
_BEFORE_ANYTHING: Final = frozenset(
    {
        grpc.StatusCode.INVALID_ARGUMENT,
        grpc.StatusCode.PERMISSION_DENIED,
        grpc.StatusCode.UNIMPLEMENTED,
    }
)


class NodeForwarder:
    """Implements `Forwarder` over the channels to the nodes.

    At most `CALLS` calls to one node for one shard are under way: the first commands go at once,
    and those that come meanwhile share the next call. Nothing is sent twice. What is too much for
    a shard's queue is not taken here either.
    """

    def __init__(
        self, channels: NodeChannels, loop: asyncio.AbstractEventLoop, limits: LimitsSection
    ) -> None:
        self._channels: Final = channels
        self._loop: Final = loop
        self._call_bytes: Final = run_bytes(limits)
        self._lanes: Final[dict[tuple[str, ShardId], Lane]] = {}
        self._calls: Final[set[asyncio.Task[None]]] = set()
        self._patience: Final = Alarm(loop, loop.time, self._expire)

    async def propose(self, node: str, requests: Sequence[ForwardedCommand]) -> Sequence[Result]:
        """Have the leader propose commands of one shard, and tell what became of each."""
        key = (node, requests[0].shard)
        lane = self._lanes.get(key)
        if lane is None:
            lane = self._lanes[key] = Lane(*key)
        bundle = Bundle(requests, self._loop.time(), self._loop.create_future())
        weight = bundle.weight
        lane.room.admit(weight, len(requests))
        lane.waiting.append(bundle)
        if bundle.due < self._patience.due:
            self._patience.by(bundle.due)
        if lane.soon is None and len(lane.under_way) < CALLS:
            # The commands of a whole turn of the loop share a call.
            lane.soon = self._loop.call_soon(self._flush, key)
        try:
            await bundle.answer
        finally:
            lane.room.release(weight, len(requests))
        return [each for each in bundle.results if each is not None]

    async def query(self, node: str, request: ForwardedQuery) -> ForwardedAnswers:
        """Have a replica answer a query."""
        asked = node_pb2.ShardQueryRequest(
            shard=str(request.shard),
            type=request.type,
            payload=request.payload,
            row=request.row,
            stale=request.consistency == "stale",
            min_revision=request.min_revision,
            caller=request.caller,
            timeout_ms=_ms(request.timeout_s),
        )
        rows: list[bytes] = []
        as_of: AsOf | None = None
        try:
            way = await self._channels.way(node, request.timeout_s)
            stub = node_pb2_grpc.NodeServiceStub(way.channel)
            timeout_s = request.timeout_s + GRACE_S
            async for part in stub.Query(asked, timeout=timeout_s, metadata=way.metadata):
                as_of = AsOf(part.revision, part.age_ms)
                rows += part.rows
        except NoWayError as error:
            raise UnreadableError(str(error)) from None
        except grpc.aio.AioRpcError as error:
            _raise_unread(node, request.shard, error)
        if as_of is None:
            raise UnreadableError(f"{node} ended its answer without a word")
        return ForwardedAnswers(as_of, rows)

    def _flush(self, key: tuple[str, ShardId]) -> None:
        lane = self._lanes[key]
        lane.soon = None
        while len(lane.under_way) < CALLS and (bundles := self._next_call(lane)):
            lane.under_way.append(bundles)
            call = self._loop.create_task(self._call(key, lane, bundles))
            self._calls.add(call)
            call.add_done_callback(self._calls.discard)
        if not lane.under_way:
            # All that waited has ended meanwhile.
            del self._lanes[key]

    def _next_call(self, lane: Lane) -> list[Bundle]:
        """Take what shares the next call: a bundle is never cut."""
        bundles: list[Bundle] = []
        size = 0
        while lane.waiting:
            bundle = lane.waiting[0]
            if bundle.answer.done():
                lane.waiting.popleft()
                continue
            size += bundle.weight
            if bundles and size > self._call_bytes:
                break
            bundles.append(lane.waiting.popleft())
        return bundles

    async def _call(self, key: tuple[str, ShardId], lane: Lane, bundles: list[Bundle]) -> None:
        try:
            await self._send(*key, bundles)
        finally:
            lane.under_way.remove(bundles)
            if lane.soon is None:
                self._flush(key)

    async def _send(self, node: str, shard: ShardId, bundles: Sequence[Bundle]) -> None:
        try:
            last = max(max(each.deadlines) for each in bundles)
            way = await self._channels.way(node, last - self._loop.time())
            now = self._loop.time()
            sent: list[tuple[Bundle, int]] = []
            for bundle in bundles:
                bundle.expire(now)
                if not bundle.answer.done():
                    bundle.sent = True
                    sent += [(bundle, at) for at, each in enumerate(bundle.results) if each is None]
            if not sent:
                return
            request = node_pb2.ForwardRequest(
                shard=str(shard), commands=[_forwarded(*each, now) for each in sent]
            )
            stub = node_pb2_grpc.NodeServiceStub(way.channel)
            response = await stub.Forward(
                request, timeout=last - now + GRACE_S, metadata=way.metadata
            )
            # What lacks an answer is settled below.
            for (bundle, place), answer in zip(sent, response.answers, strict=False):
                bundle.settle(place, _settled(node, shard, answer))
        except NoWayError as error:
            _settle_all(bundles, NotProposedError(f"{error}; nothing was proposed"))
        except grpc.aio.AioRpcError as error:
            _settle_all(bundles, _broken(node, error))
        finally:
            lost = OutcomeUnknownError(f"{node} was sent a command and gave no answer to it")
            never = NotProposedError(f"{node} was not sent a command: this node is stopping")
            for bundle in bundles:
                bundle.settle_all(lost if bundle.sent else never)

    def _expire(self, now: float) -> float | None:
        again = float("inf")
        for lane in self._lanes.values():
            for bundle in lane.bundles():
                bundle.expire(now)
                again = min(again, bundle.due)
        return again if again < float("inf") else None


def _settle_all(bundles: Sequence[Bundle], error: Exception) -> None:
    for bundle in bundles:
        bundle.settle_all(error)


def _forwarded(bundle: Bundle, place: int, now: float) -> node_pb2.ForwardedCommand:
    request = bundle.requests[place]
    return node_pb2.ForwardedCommand(
        command=_logged(request.command),
        caller=request.caller,
        timeout_ms=_ms(bundle.deadlines[place] - now),
    )


def _logged(command: LoggedCommand) -> entry_pb2.LoggedCommand:
    stamp = command.stamp
    return entry_pb2.LoggedCommand(
        type=command.type,
        payload=command.payload,
        slots=command.slots,
        stamp=None if stamp is None else entry_pb2.Stamp(**stamp._asdict()),
        slotless=command.slotless,
    )


def _ms(timeout_s: float) -> int:
    return max(0, round(timeout_s * 1_000))


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


def _broken(node: str, error: grpc.aio.AioRpcError) -> Exception:
    code, why = error.code(), error.details()
    if code in _BEFORE_ANYTHING:
        return NotProposedError(f"{node} refused a forwarded command: {why}")
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return UnansweredInTimeError(f"the deadline passed before {node} answered a command")
    return OutcomeUnknownError(f"the way to {node} broke under a command: {why}")


def _raise_unread(node: str, shard: ShardId, error: grpc.aio.AioRpcError) -> NoReturn:
    metadata: Any = error.trailing_metadata()
    for key, value in metadata or ():
        if key == DETAILS_KEY:
            raise error_of(status_pb2.Status.FromString(value), shard) from None
    if error.code() is grpc.StatusCode.DEADLINE_EXCEEDED:
        raise ReadTimeoutError(f"the deadline passed before {node} answered a query") from None
    raise UnreadableError(f"{node} did not answer a query: {error.details()}") from None
