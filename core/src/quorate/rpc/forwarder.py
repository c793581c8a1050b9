"""The one hop of commands and queries to other nodes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, NoReturn

import grpc
import grpc.aio
from google.rpc import status_pb2

from quorate.apply.entries import LoggedCommand
from quorate.apply.outcomes import Outcome, Refusal
from quorate.groups.refusals import (
    NotProposedError,
    NotProposedInTimeError,
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
)
from quorate.plugin import Rejected
from quorate.rpc.channels import NodeChannels, NoWayError
from quorate.rpc.status import DETAILS_KEY, error_of
from quorate.storage.shard_id import ShardId
from quorate.v1 import entry_pb2, node_pb2, node_pb2_grpc

#: What the payloads of one call come to before the next one is begun.
CALL_BYTES: Final = 1 << 20
#: How much longer than a command its call may take: the other node says best why it is late.
_GRACE_S: Final = 0.2

#: With these the other node refused the whole call before it looked at any command.
_BEFORE_ANYTHING: Final = frozenset(
    {
        grpc.StatusCode.INVALID_ARGUMENT,
        grpc.StatusCode.PERMISSION_DENIED,
        grpc.StatusCode.UNIMPLEMENTED,
    }
)


class _Waiting(NamedTuple):
    request: ForwardedCommand
    #: On the loop's clock.
    deadline: float
    answer: asyncio.Future[Outcome]

    def settle(self, result: Outcome | Exception) -> None:
        if self.answer.done():
            return
        if isinstance(result, Exception):
            self.answer.set_exception(result)
        else:
            self.answer.set_result(result)


class NodeForwarder:
    """Implements `Forwarder` over the channels to the nodes.

    Commands of one turn of the loop for one shard share a call. Nothing is sent twice.
    """

    def __init__(self, channels: NodeChannels, loop: asyncio.AbstractEventLoop) -> None:
        self._channels: Final = channels
        self._loop: Final = loop
        self._turn: Final[dict[tuple[str, ShardId], list[_Waiting]]] = {}
        self._calls: Final[set[asyncio.Task[None]]] = set()

    async def propose(self, node: str, request: ForwardedCommand) -> Outcome:
        """Have the leader propose a command."""
        key = (node, request.shard)
        waiting = self._turn.get(key)
        if waiting is None:
            waiting = self._turn[key] = []
            self._loop.call_soon(self._send_turn, key)
        deadline = self._loop.time() + request.timeout_s
        mine = _Waiting(request, deadline, self._loop.create_future())
        waiting.append(mine)
        return await mine.answer

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
            timeout_s = request.timeout_s + _GRACE_S
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

    def _send_turn(self, key: tuple[str, ShardId]) -> None:
        node, shard = key
        for part in _parts(self._turn.pop(key)):
            call = self._loop.create_task(self._send(node, shard, part))
            self._calls.add(call)
            call.add_done_callback(self._calls.discard)

    async def _send(self, node: str, shard: ShardId, waiting: Sequence[_Waiting]) -> None:
        sent: Sequence[_Waiting] = ()
        try:
            last = max(each.deadline for each in waiting)
            way = await self._channels.way(node, last - self._loop.time())
            now = self._loop.time()
            sent = [each for each in waiting if each.deadline > now and not each.answer.done()]
            if not sent:
                return
            request = node_pb2.ForwardRequest(
                shard=str(shard), commands=[_forwarded(each, now) for each in sent]
            )
            stub = node_pb2_grpc.NodeServiceStub(way.channel)
            response = await stub.Forward(
                request, timeout=last - now + _GRACE_S, metadata=way.metadata
            )
            # What lacks an answer is settled below.
            for each, answer in zip(sent, response.answers, strict=False):
                each.settle(_settled(node, shard, answer))
        except NoWayError as error:
            self._settle_all(waiting, NotProposedError(f"{error}; nothing was proposed"))
        except grpc.aio.AioRpcError as error:
            self._settle_all(sent, _broken(node, error))
        finally:
            lost = OutcomeUnknownError(f"{node} was sent a command and gave no answer to it")
            self._settle_all(sent, lost)
            late = NotProposedInTimeError(f"the deadline passed before {node} was reached")
            self._settle_all(waiting, late)

    def _settle_all(self, waiting: Sequence[_Waiting], error: Exception) -> None:
        for each in waiting:
            each.settle(error)


def _parts(waiting: Sequence[_Waiting]) -> list[list[_Waiting]]:
    found: list[list[_Waiting]] = [[]]
    size = 0
    for each in waiting:
        payload = len(each.request.command.payload)
        if found[-1] and size + payload > CALL_BYTES:
            found.append([])
            size = 0
        found[-1].append(each)
        size += payload
    return found


def _forwarded(waiting: _Waiting, now: float) -> node_pb2.ForwardedCommand:
    request = waiting.request
    return node_pb2.ForwardedCommand(
        command=_logged(request.command),
        caller=request.caller,
        timeout_ms=_ms(waiting.deadline - now),
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


def _settled(node: str, shard: ShardId, answer: node_pb2.ForwardAnswer) -> Outcome | Exception:
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
