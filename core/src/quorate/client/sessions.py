"""Exactly-once sessions: one for each shard, and those under a name, which any client continues."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from google.protobuf.message import Message

from quorate.client.calls import Calls
from quorate.client.errors import DeadlineError, QuorateError
from quorate.client.twins import Blocking, blocking
from quorate.plugin.shard_id import ShardId
from quorate.v1 import command_pb2 as pb
from quorate.v1.entry_pb2 import Stamp

if TYPE_CHECKING:
    from quorate.client.asynchronous import AsyncClient
    from quorate.client.commands import Commands

#: A shard forgets a session after this time without use.
TTL_MS: Final = 60_000
#: Maximum distance of a session's operations above its lowest unanswered one.
WINDOW: Final = 1_024
#: Closing is a courtesy, and takes no longer.
_CLOSE_S: Final = 1.0

_SERVICE: Final = "/quorate.v1.CommandService/"

R = TypeVar("R", bound=Message)
_Request = pb.OpenSessionRequest | pb.SealSessionRequest | pb.CloseSessionRequest


class Session:
    """A session of one shard."""

    def __init__(self, number: int, group: str, shard_key: bytes) -> None:
        self.number: Final = number
        self.group: Final = group
        #: One of the shard's keys, by which it is found again.
        self.shard_key: Final = shard_key
        self._next = 1
        self._lowest = 1
        self._unanswered: Final[set[int]] = set()
        self._room: Final[list[asyncio.Future[None]]] = []

    async def begin(self, deadline: float) -> Operation:
        """Begin an operation, once there is room in the window; raises `DeadlineError`."""
        loop = asyncio.get_running_loop()
        while self._next - self._lowest >= WINDOW:
            room = loop.create_future()
            self._room.append(room)
            try:
                async with asyncio.timeout_at(deadline):
                    await room
            except TimeoutError:
                raise DeadlineError(
                    f"{WINDOW} operations of a session wait for their answers, and the deadline "
                    "passed before one came; nothing was done, so trying again is safe"
                ) from None
        sequence = self._next
        self._next += 1
        self._unanswered.add(sequence)
        return Operation(self, sequence)

    def stamp(self, sequence: int) -> Stamp:
        """Return the stamp by which the shard recognizes an operation."""
        return Stamp(session=self.number, sequence=sequence, lowest_unanswered=self._lowest)

    def end(self, sequence: int) -> None:
        """Let the shard forget the answer of an operation."""
        self._unanswered.discard(sequence)
        while self._lowest < self._next and self._lowest not in self._unanswered:
            self._lowest += 1
        for room in self._room:
            if not room.done():
                room.set_result(None)
        self._room.clear()


@dataclass(frozen=True, slots=True, eq=False)
class Operation:
    """One command of a session."""

    session: Session
    sequence: int

    def stamp(self) -> Stamp:
        """Return its stamp, which identifies the same operation in every attempt."""
        return self.session.stamp(self.sequence)

    def end(self) -> None:
        """Its caller has the answer, or has given it up."""
        self.session.end(self.sequence)


class Sessions:
    """The sessions of a client."""

    def __init__(self, calls: Calls) -> None:
        self._calls: Final = calls
        self._opening: Final[dict[ShardId, asyncio.Task[Session]]] = {}

    async def begin(
        self, shard: ShardId, group: str, shard_key: bytes, deadline: float
    ) -> Operation:
        """Begin an operation on a shard; opens a session for the shard if needed."""
        opening = self._opening.get(shard)
        if opening is None or (opening.done() and _failed(opening)):
            opening = asyncio.get_running_loop().create_task(self._open(group, shard_key, deadline))
            self._opening[shard] = opening
        try:
            async with asyncio.timeout_at(deadline):
                session = await asyncio.shield(opening)
        except TimeoutError:
            raise DeadlineError(
                f"the deadline passed before a session of {shard} was opened; nothing was done, so "
                "trying again is safe"
            ) from None
        return await session.begin(deadline)

    def forget(self, shard: ShardId, session: Session) -> None:
        """Open another one for the next operation: the shard does not know this one any more."""
        opening = self._opening.get(shard)
        ended = opening is not None and opening.done() and not _failed(opening)
        if opening is not None and ended and opening.result() is session:
            del self._opening[shard]

    async def close(self) -> None:
        """End every session, as far as that goes quickly."""
        opened = list(self._opening.values())
        self._opening.clear()
        for opening in opened:
            if not opening.done():
                opening.cancel()
        await asyncio.gather(*opened, return_exceptions=True)
        sessions = [opening.result() for opening in opened if not _failed(opening)]
        await asyncio.gather(*(self._close(each) for each in sessions))

    async def _open(self, group: str, shard_key: bytes, deadline: float) -> Session:
        # A session whose answer was lost is not used, and expires.
        request = pb.OpenSessionRequest(group=group, shard_key=shard_key, ttl_ms=TTL_MS)
        opened = await self._call("OpenSession", request, pb.OpenSessionResponse, deadline)
        return Session(opened.session, group, shard_key)

    async def _close(self, session: Session) -> None:
        request = pb.CloseSessionRequest(
            group=session.group, shard_key=session.shard_key, session=session.number
        )
        deadline = asyncio.get_running_loop().time() + _CLOSE_S
        # Otherwise it expires.
        with suppress(QuorateError):
            await self._call("CloseSession", request, pb.CloseSessionResponse, deadline)

    async def _call(self, method: str, request: _Request, response: type[R], deadline: float) -> R:
        return await self._calls.call(
            _SERVICE + method,
            request,
            response,
            deadline,
            kind="read",
            group=request.group,
            shard_key=request.shard_key,
        )


def _failed(opening: asyncio.Task[Session]) -> bool:
    return opening.cancelled() or opening.exception() is not None


@dataclass(frozen=True, eq=False)
class NamedSession:
    """A session of one shard; the caller numbers its operations."""

    _commands: Commands
    number: int
    group: str
    #: One of the shard's keys, by which it is found again.
    shard_key: bytes
    _timeout_s: float

    async def execute(
        self,
        command: Message,
        sequence: int,
        *,
        lowest_unanswered: int,
        timeout_s: float | None = None,
    ) -> pb.CommandReply:
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


@dataclass(frozen=True, eq=False)
class NamedSessions:
    """Opens, seals and closes sessions by their names. A name belongs to one shard."""

    _client: AsyncClient
    _commands: Commands
    _timeout_s: float

    async def open(
        self, group: str, shard_key: bytes, name: str, *, timeout_s: float | None = None
    ) -> NamedSession:
        """Open the session of a name on the shard of a key, or find it."""
        request = pb.OpenSessionRequest(group=group, shard_key=shard_key, name=name)
        opened = await self._call("OpenSession", request, pb.OpenSessionResponse, timeout_s)
        return NamedSession(self._commands, opened.session, group, shard_key, self._timeout_s)

    async def seal(
        self, group: str, shard_key: bytes, name: str, *, timeout_s: float | None = None
    ) -> Sequence[int]:
        """Seal a session against further operations, and return the revisions it made."""
        request = pb.SealSessionRequest(group=group, shard_key=shard_key, name=name)
        sealed = await self._call("SealSession", request, pb.SealSessionResponse, timeout_s)
        return list(sealed.revisions)

    async def close(
        self, group: str, shard_key: bytes, name: str, *, timeout_s: float | None = None
    ) -> None:
        """Close a session and forget its answers: operations repeated under its name run again."""
        session = await self.open(group, shard_key, name, timeout_s=timeout_s)
        request = pb.CloseSessionRequest(group=group, shard_key=shard_key, session=session.number)
        await self._call("CloseSession", request, pb.CloseSessionResponse, timeout_s)

    async def _call(
        self, method: str, request: _Request, response: type[R], timeout_s: float | None
    ) -> R:
        return await self._client.call(
            _SERVICE + method,
            request,
            response,
            group=request.group,
            shard_key=request.shard_key,
            # To open, seal or close twice is to do it once.
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
