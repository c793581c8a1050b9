"""Exactly-once sessions under a name: any client that opens the name continues its operations."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from google.protobuf.message import Message

from quorate.client.commands import Commands
from quorate.client.twins import Blocking, blocking
from quorate.v1.command_pb2 import (
    CloseSessionRequest,
    CloseSessionResponse,
    CommandReply,
    OpenSessionRequest,
    OpenSessionResponse,
    SealSessionRequest,
    SealSessionResponse,
)
from quorate.v1.entry_pb2 import Stamp

if TYPE_CHECKING:
    from quorate.client.asynchronous import AsyncClient

_SERVICE: Final = "/quorate.v1.CommandService"


class NamedSession:
    """A session of one shard, whose operations are numbered by the caller."""

    def __init__(
        self, commands: Commands, number: int, group: str, shard_key: bytes, timeout_s: float
    ) -> None:
        self._commands: Final = commands
        self.number: Final = number
        self.group: Final = group
        #: One of the shard's keys, by which it is found again.
        self.shard_key: Final = shard_key
        self._timeout_s: Final = timeout_s

    async def execute(
        self,
        command: Message,
        sequence: int,
        *,
        lowest_unanswered: int,
        timeout_s: float | None = None,
    ) -> CommandReply:
        """Carry out a command of this shard as the operation of that number, from 1 on.

        One that was carried out under this number, by whomever, is answered as it was then. Raises
        `RejectedError` with OTHER_COMMAND when it was another command, and with SESSION_SEALED.
        """
        timeout_s = self._timeout_s if timeout_s is None else timeout_s
        deadline = asyncio.get_running_loop().time() + timeout_s
        stamp = Stamp(session=self.number, sequence=sequence, lowest_unanswered=lowest_unanswered)
        return await self._commands.execute_stamped(
            self.group, self.shard_key, command, stamp, deadline
        )


class NamedSessions:
    """Opens, seals and closes sessions by their names. A name belongs to one shard."""

    def __init__(self, client: AsyncClient, commands: Commands, timeout_s: float) -> None:
        self._client: Final = client
        self._commands: Final = commands
        self._timeout_s: Final = timeout_s

    async def open(
        self, group: str, shard_key: bytes, name: str, *, timeout_s: float | None = None
    ) -> NamedSession:
        """Open the session of a name on the shard of a key, or find it."""
        opened = await self._client.call(
            f"{_SERVICE}/OpenSession",
            OpenSessionRequest(group=group, shard_key=shard_key, name=name),
            OpenSessionResponse,
            group=group,
            shard_key=shard_key,
            # To open a name twice is to open it once.
            read=True,
            timeout_s=timeout_s,
        )
        return NamedSession(self._commands, opened.session, group, shard_key, self._timeout_s)

    async def seal(
        self, group: str, shard_key: bytes, name: str, *, timeout_s: float | None = None
    ) -> Sequence[int]:
        """Let a session carry out nothing more, and return the revisions of what it has."""
        sealed = await self._client.call(
            f"{_SERVICE}/SealSession",
            SealSessionRequest(group=group, shard_key=shard_key, name=name),
            SealSessionResponse,
            group=group,
            shard_key=shard_key,
            read=True,
            timeout_s=timeout_s,
        )
        return list(sealed.revisions)

    async def close(
        self, group: str, shard_key: bytes, name: str, *, timeout_s: float | None = None
    ) -> None:
        """Forget a session with its answers: what comes again under its name is carried out."""
        session = await self.open(group, shard_key, name, timeout_s=timeout_s)
        await self._client.call(
            f"{_SERVICE}/CloseSession",
            CloseSessionRequest(group=group, shard_key=shard_key, session=session.number),
            CloseSessionResponse,
            group=group,
            shard_key=shard_key,
            read=True,
            timeout_s=timeout_s,
        )


class SyncNamedSession(Blocking[NamedSession]):
    """The same, without `await`."""

    @property
    def number(self) -> int:
        """By which its shard knows it."""
        return self.asynchronous.number

    execute = blocking(NamedSession.execute)


class SyncNamedSessions(Blocking[NamedSessions]):
    """The same, without `await`."""

    seal = blocking(NamedSessions.seal)
    close = blocking(NamedSessions.close)

    def open(
        self, group: str, shard_key: bytes, name: str, *, timeout_s: float | None = None
    ) -> SyncNamedSession:
        """Open the session of a name on the shard of a key, or find it."""
        opening = self.asynchronous.open(group, shard_key, name, timeout_s=timeout_s)
        return SyncNamedSession(self.thread, self.thread.run(opening))
