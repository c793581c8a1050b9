"""Exactly-once sessions: one for each shard, and the stamps of the operations in it."""

from __future__ import annotations

import asyncio
from typing import Final

from quorate.client.calls import Calls
from quorate.client.errors import DeadlineError, QuorateError
from quorate.plugin.shard_id import ShardId
from quorate.v1.command_pb2 import (
    CloseSessionRequest,
    CloseSessionResponse,
    OpenSessionRequest,
    OpenSessionResponse,
)
from quorate.v1.entry_pb2 import Stamp

#: A shard forgets a session after this time without use.
TTL_MS: Final = 60_000
#: So far above its lowest unanswered operation a session may run.
WINDOW: Final = 1_024
#: Closing is a courtesy, and takes no longer.
_CLOSE_S: Final = 1.0

_OPEN: Final = "/quorate.v1.CommandService/OpenSession"
_CLOSE: Final = "/quorate.v1.CommandService/CloseSession"


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
                    f"{WINDOW} operations of a session wait for their answers, and the time was "
                    "over before one came; nothing was done, so trying again is safe"
                ) from None
        sequence = self._next
        self._next += 1
        self._unanswered.add(sequence)
        return Operation(self, sequence)

    def stamp(self, sequence: int) -> Stamp:
        """Return what makes an operation known to the shard."""
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


class Operation:
    """One command of a session."""

    __slots__ = ("sequence", "session")

    def __init__(self, session: Session, sequence: int) -> None:
        self.session: Final = session
        self.sequence: Final = sequence

    def stamp(self) -> Stamp:
        """Return its stamp: the same operation, whatever was answered since it was first sent."""
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
        """Begin an operation on a shard, in a session that is opened for it if there is none."""
        opening = self._opening.get(shard)
        if opening is None or (opening.done() and _failed(opening)):
            opening = asyncio.get_running_loop().create_task(self._open(group, shard_key, deadline))
            self._opening[shard] = opening
        try:
            async with asyncio.timeout_at(deadline):
                session = await asyncio.shield(opening)
        except TimeoutError:
            raise DeadlineError(
                f"the time was over before a session of {shard} was opened; nothing was done, so "
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
        opened = await self._calls.call(
            _OPEN,
            OpenSessionRequest(group=group, shard_key=shard_key, ttl_ms=TTL_MS),
            OpenSessionResponse,
            deadline,
            kind="read",
            group=group,
            shard_key=shard_key,
        )
        return Session(opened.session, group, shard_key)

    async def _close(self, session: Session) -> None:
        group, shard_key = session.group, session.shard_key
        request = CloseSessionRequest(group=group, shard_key=shard_key, session=session.number)
        deadline = asyncio.get_running_loop().time() + _CLOSE_S
        try:
            await self._calls.call(
                _CLOSE,
                request,
                CloseSessionResponse,
                deadline,
                kind="read",
                group=group,
                shard_key=shard_key,
            )
        except QuorateError:
            # It expires by itself.
            return


def _failed(opening: asyncio.Task[Session]) -> bool:
    return opening.cancelled() or opening.exception() is not None
