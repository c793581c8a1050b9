"""The generic lane of writes: many public commands of any plugin in one call."""

from __future__ import annotations

import asyncio
from typing import Final

from quorate.config.sections import LimitsSection
from quorate.groups.groups import Answer, Groups
from quorate.groups.routing import routes
from quorate.plugin import Invalid, SessionRef
from quorate.plugin.catalog import Catalog
from quorate.rpc import deadline
from quorate.rpc.interceptor import told
from quorate.rpc.server import RpcServer
from quorate.v1 import batch_pb2, command_pb2, command_pb2_grpc, entry_pb2

SERVICE: Final = command_pb2.DESCRIPTOR.services_by_name["CommandService"].full_name


class CommandService(command_pb2_grpc.CommandServiceServicer):
    """Takes public commands alone: internal ones are refused like unknown ones."""

    def __init__(self, groups: Groups, catalog: Catalog, limits: LimitsSection) -> None:
        self._groups: Final = groups
        self._catalog: Final = catalog
        self._limits: Final = limits

    def add_to(self, server: RpcServer) -> None:
        """Serve it."""
        server.add(SERVICE, command_pb2_grpc.add_CommandServiceServicer_to_server, self)

    async def Execute(
        self, request: command_pb2.ExecuteRequest, context: object
    ) -> command_pb2.ExecuteResponse:
        """Carry out commands side by side, and answer each in its place."""
        count, most = len(request.commands), self._limits.batch_items
        if not 0 < count <= most:
            raise Invalid(
                "commands", f"{count} of them; send 1 to {most} in a call (limits.batch_items)"
            )
        timeout_s = deadline.remaining_s()
        answers = await asyncio.gather(
            *(self._answer(command, timeout_s) for command in request.commands)
        )
        return command_pb2.ExecuteResponse(answers=answers)

    async def _answer(
        self, command: command_pb2.Command, timeout_s: float | None
    ) -> command_pb2.CommandAnswer:
        try:
            reply = _reply(await self._carry_out(command, timeout_s))
        except Exception as error:  # noqa: BLE001 - one command never hides the others
            return command_pb2.CommandAnswer(status=told(f"command {command.type}", error))
        return command_pb2.CommandAnswer(reply=reply)

    async def _carry_out(self, command: command_pb2.Command, timeout_s: float | None) -> Answer:
        size, most = len(command.payload), self._limits.command_bytes
        if size > most:
            raise Invalid(
                "payload", f"{size} bytes, and {most} are the most (limits.command_bytes)"
            )
        try:
            message = routes.parse_public(self._catalog, command.type, command.payload)
        except Invalid as error:
            # What is no message of its type is the fault of this field here.
            raise Invalid("type" if error.field == "type" else "payload", error.reason) from None
        session = _session(command.stamp) if command.HasField("stamp") else None
        return await self._groups.propose(message, session=session, timeout_s=timeout_s)


def _session(stamp: entry_pb2.Stamp) -> SessionRef:
    if not stamp.session or not stamp.sequence:
        raise Invalid("stamp", "name a session that was opened, and a sequence from 1 on")
    return SessionRef(
        session=stamp.session,
        sequence=stamp.sequence,
        lowest_unanswered=stamp.lowest_unanswered,
    )


def _reply(answer: Answer) -> command_pb2.CommandReply:
    return command_pb2.CommandReply(
        payload=answer.reply,
        revisions=[
            batch_pb2.ShardRevision(shard=shard.number, revision=revision)
            for shard, revision in sorted(answer.revisions.items())
        ],
        forgotten=answer.forgotten,
    )
