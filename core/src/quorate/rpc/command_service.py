"""The generic writes: public commands of any plugin, many in a call or in a stream."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from quorate.config.sections import LimitsSection
from quorate.plugin import Access, Fence, Invalid
from quorate.plugin.advanced import SessionRef
from quorate.plugin.catalog import Catalog
from quorate.plugin.needs import needs_of_core
from quorate.rpc import callers, deadline
from quorate.rpc.command_stream import CommandStream
from quorate.rpc.methods import Context, failed_status
from quorate.rpc.server import RpcServer
from quorate.shards.refusals import OutcomeUnknownError
from quorate.shards.router import Answer, Proposal, Router
from quorate.shards.routing import routes
from quorate.shards.routing.ordered_stream import OrderedStream
from quorate.shards.routing.requests import Answered
from quorate.v1 import command_pb2 as pb, entry_pb2

SERVICE: Final = pb.DESCRIPTOR.services_by_name["CommandService"]

#: Access is checked per command.
ACCESS: Final = dict.fromkeys(SERVICE.methods_by_name, Access(right="identity"))
#: Maximum number of bytes in the name of a fence.
LONGEST_FENCE: Final = 1_024
#: Approximate bytes of an answer without a reply: a smaller reply always has room.
_STATUS_BYTES: Final = 512
#: Bytes of an answer beside its reply.
_ANSWER_BYTES: Final = 64
#: A message of split answers has this part of the largest one, or a single larger answer.
_PARTS: Final = 4


@dataclass(eq=False)
class CommandService:
    """Takes public commands alone: internal ones are refused like unknown ones."""

    _router: Router
    _catalog: Catalog
    _limits: LimitsSection

    def add_to(self, server: RpcServer) -> None:
        """Serve it."""
        server.add(SERVICE, self, needs_of_core(SERVICE, ACCESS, ""))

    async def Execute(self, request: pb.ExecuteRequest, context: object) -> pb.ExecuteResponse:
        """Carry out commands side by side, and answer each in its place."""
        answers = await self._answers(request.commands)
        response = pb.ExecuteResponse()
        room = _reply_room(self._limits, len(answers))
        for command, answer in zip(request.commands, answers, strict=True):
            room -= _fill(response.answers.add(), command, answer, room)
        return response

    async def ExecuteSplit(
        self, request: pb.ExecuteRequest, context: object
    ) -> AsyncIterator[pb.ExecuteResponse]:
        """Carry out commands side by side, and answer each in its place, in several messages."""
        answers = await self._answers(request.commands)
        room, most = _reply_room(self._limits, 1), self._limits.grpc_message_bytes // _PARTS
        response, size = pb.ExecuteResponse(), 0
        for command, answer in zip(request.commands, answers, strict=True):
            coming = _STATUS_BYTES if isinstance(answer, Exception) else len(answer.reply)
            if size and size + coming > most:
                yield response
                response, size = pb.ExecuteResponse(), 0
            _fill(response.answers.add(), command, answer, room)
            size += coming + _ANSWER_BYTES
        yield response

    async def _answers(self, commands: Sequence[pb.Command]) -> list[Answer | Exception]:
        self._check_count(commands)
        ends = _Deadlines(self._router)
        failed: dict[int, Exception] = {}
        proposals: list[Proposal] = []
        for place, command in enumerate(commands):
            try:
                proposals.append(self._proposal(command, ends))
            except Exception as error:  # noqa: BLE001 - one command never hides the others
                failed[place] = error
        proposed = iter(await self._router.propose_many(proposals, caller=callers.caller()))
        return [
            failed[place] if place in failed else next(proposed) for place in range(len(commands))
        ]

    async def Stream(self, requests: AsyncIterator[pb.StreamRequest], context: Context) -> None:
        """Carry out commands as they come, in order per shard, and answer each when it has ended.

        A message that cannot be right ends the stream, once all before it is answered.
        """
        ordered = self._router.ordered(caller=callers.caller())

        def put(commands: Iterable[tuple[pb.Command, Answered]]) -> None:
            self._put(ordered, commands)

        room = _reply_room(self._limits, 1)

        def answered(command: pb.Command, answer: Answer | Exception) -> pb.CommandAnswer:
            filled = pb.CommandAnswer()
            _fill(filled, command, answer, room)
            return filled

        stream = CommandStream(put, answered, self._limits)
        reading = asyncio.create_task(stream.read(self._messages(requests)))
        try:
            await stream.write(context.write)
            await reading
        finally:
            reading.cancel()
            await asyncio.gather(reading, ordered.close(), return_exceptions=True)

    async def OpenSession(
        self, request: pb.OpenSessionRequest, context: object
    ) -> pb.OpenSessionResponse:
        """Open an exactly-once session on the shard of a key."""
        self._check_place(request.group, request.shard_key)
        self._check_name(request.name)
        session = await self._router.open_session(
            request.group,
            request.shard_key,
            name=request.name,
            ttl_ms=request.ttl_ms,
            timeout_s=deadline.remaining_s(),
            caller=callers.caller(),
        )
        return pb.OpenSessionResponse(session=session)

    async def SealSession(
        self, request: pb.SealSessionRequest, context: object
    ) -> pb.SealSessionResponse:
        """Seal a named session against further commands; return the revisions of its commands."""
        self._check_place(request.group, request.shard_key)
        if not request.name:
            raise Invalid("name", "must not be empty")
        self._check_name(request.name)
        sealed = await self._router.seal_session(
            request.group,
            request.shard_key,
            request.name,
            timeout_s=deadline.remaining_s(),
            caller=callers.caller(),
        )
        return pb.SealSessionResponse(session=sealed.session, revisions=sealed.revisions)

    async def CloseSession(
        self, request: pb.CloseSessionRequest, context: object
    ) -> pb.CloseSessionResponse:
        """End a session; an ended session is ignored."""
        self._check_place(request.group, request.shard_key)
        if not request.session:
            raise Invalid("session", "name a session that was opened")
        await self._router.close_session(
            request.group,
            request.shard_key,
            request.session,
            timeout_s=deadline.remaining_s(),
            caller=callers.caller(),
        )
        return pb.CloseSessionResponse()

    async def _messages(
        self, requests: AsyncIterator[pb.StreamRequest]
    ) -> AsyncIterator[Sequence[pb.Command]]:
        async for request in requests:
            self._check_count(request.commands)
            yield request.commands

    def _put(self, ordered: OrderedStream, commands: Iterable[tuple[pb.Command, Answered]]) -> None:
        ends = _Deadlines(self._router)
        for command, answered in commands:
            try:
                proposal = self._proposal(command, ends)
            except Exception as error:  # noqa: BLE001 - one command never hides the others
                answered(error)
            else:
                ordered.put(proposal, answered)

    def _proposal(self, command: pb.Command, ends: _Deadlines) -> Proposal:
        size, most = len(command.payload), self._limits.command_bytes
        if size > most:
            raise Invalid("payload", f"{size} bytes; at most {most} allowed (limits.command_bytes)")
        try:
            message = routes.parse_public(self._catalog, command.type, command.payload)
        except Invalid as error:
            # What is no message of its type is the fault of this field here.
            raise Invalid("type" if error.field == "type" else "payload", error.reason) from None
        session = _session(command.stamp) if command.HasField("stamp") else None
        fence = _fence(command.fence) if command.HasField("fence") else None
        return Proposal(message, ends.of(command.timeout_ms), session, fence)

    def _check_count(self, commands: Sequence[pb.Command]) -> None:
        count, most = len(commands), self._limits.batch_items
        if count > most:
            raise Invalid(
                "commands",
                f"{count} of them; send {most} at most in a message (limits.batch_items)",
            )

    def _check_name(self, name: str) -> None:
        if len(name.encode()) > self._limits.key_bytes:
            raise Invalid("name", f"must have at most {self._limits.key_bytes} bytes")
        if "\0" in name:
            raise Invalid("name", "must not have a NUL in it")

    def _check_place(self, group: str, shard_key: bytes) -> None:
        if group not in self._catalog.groups:
            known = ", ".join(sorted(self._catalog.groups))
            raise Invalid("group", f"{group!r} is not a group of this cluster; groups are: {known}")
        size, most = len(shard_key), self._limits.key_bytes
        if size > most:
            raise Invalid("shard_key", f"{size} bytes; at most {most} allowed (limits.key_bytes)")


class _Deadlines:
    """The deadlines of the commands of one message, computed once for each timeout."""

    def __init__(self, router: Router) -> None:
        self._router: Final = router
        remaining_s = deadline.remaining_s()
        self._call: Final = float("inf") if remaining_s is None else router.deadline(remaining_s)
        self._known: Final[dict[int, float]] = {}

    def of(self, timeout_ms: int) -> float:
        """Return the deadline for a timeout, on the loop's clock."""
        known = self._known.get(timeout_ms)
        if known is None:
            own = self._router.deadline(timeout_ms / 1_000 if timeout_ms else None)
            known = self._known[timeout_ms] = min(own, self._call)
        return known


def _session(stamp: entry_pb2.Stamp) -> SessionRef:
    if not stamp.session or not stamp.sequence:
        raise Invalid("stamp", "name a session that was opened, and a sequence from 1 on")
    return SessionRef(
        session=stamp.session, sequence=stamp.sequence, lowest_unanswered=stamp.lowest_unanswered
    )


def _fence(fence: entry_pb2.Fence) -> Fence:
    if not 0 < len(fence.name) <= LONGEST_FENCE or not fence.token:
        raise Invalid("fence", f"needs a token, and a name of 1 to {LONGEST_FENCE} bytes")
    return Fence(fence.name, fence.token)


def _reply_room(limits: LimitsSection, answers: int) -> int:
    """Return how many bytes of replies a response takes: a client refuses a larger one whole."""
    most = limits.grpc_message_bytes
    return max(most // 2, most - answers * _STATUS_BYTES)


def _fill(
    filled: pb.CommandAnswer, command: pb.Command, answer: Answer | Exception, room: int
) -> int:
    """Fill an answer where it stands, and return how much of the room for replies it takes.

    A message that is put into another one is copied. A reply for which there is no room fails
    alone: its command was carried out, and must not be reported as refused.
    """
    if not isinstance(answer, Exception) and max(room, _STATUS_BYTES) < len(answer.reply):
        answer = OutcomeUnknownError(
            f"{command.type} was carried out, and its reply of {len(answer.reply)} bytes has no "
            "room in the response; read what it did, and send fewer such commands at once"
        )
    if isinstance(answer, Exception):
        filled.status.CopyFrom(failed_status(f"command {command.type}", answer))
        return 0
    reply = filled.reply
    # Set even if empty: its presence marks a reply.
    reply.payload = answer.reply
    if answer.forgotten:
        reply.forgotten = True
    for shard in sorted(answer.revisions):
        reply.revisions.add(shard=shard.number, revision=answer.revisions[shard])
    return len(answer.reply)
