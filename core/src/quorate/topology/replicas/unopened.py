"""Replicas of a node that open after its start: at once on request, else in their turn."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from quorate.consensus.messages import Message
from quorate.plugin.shard_id import ShardId

#: How long replicas that were asked for are opened before the node does anything else.
_TURN_S: Final = 0.05
#: After one that nobody asked for, what else there is to do comes first: the next one opens once
#: the loop has nothing to do for this time, and at the latest after as long as the last one took.
_IDLE_S: Final = 0.002
#: A loop that is later than this for a timer has something else to do.
_LATE_S: Final = 0.001
#: The messages that are kept for a replica. Any more are lost, as the network may lose them.
_KEPT: Final = 8


@dataclass(slots=True)
class Asked:
    """The callers that wait for a replica."""

    messages: list[Message] = field(default_factory=list)
    calls: list[asyncio.Future[None]] = field(default_factory=list)
    #: Whether somebody wants more than what its leader has to say.
    wants_leader: bool = False


class Unopened:
    """The replicas that are not open yet."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop: Final = loop
        self._opens: Callable[[ShardId, Asked | None], None] = lambda shard, asked: None
        self._waiting: Final[dict[ShardId, None]] = {}
        self._names: Final[dict[str, ShardId]] = {}
        #: Those that somebody waits for, in the order in which they were asked for.
        self._asked: Final[dict[ShardId, Asked]] = {}
        self._in_turn = False
        self._ended = False
        #: When the next one opens in its turn, if the loop is idle, and even if it is not.
        self._due = self._overdue = float("-inf")
        self._next: asyncio.Handle | None = None

    def __contains__(self, shard: ShardId) -> bool:
        return shard in self._waiting

    def __iter__(self) -> Iterator[ShardId]:
        return iter(self._waiting)

    def __len__(self) -> int:
        return len(self._waiting)

    def begin(
        self,
        shards: Sequence[tuple[ShardId, str]],
        opens: Callable[[ShardId, Asked | None], None],
    ) -> None:
        """Open these on request; messages have the given names for them.

        `opens` gets who waits for a replica (None: nobody), and does not raise.
        """
        self._opens = opens
        for shard, name in shards:
            self._waiting[shard] = None
            self._names[name] = shard

    def open_all(self) -> None:
        """Open the others from now on too, one after the other."""
        self._in_turn = True
        self._go_on()

    def end(self) -> None:
        """Open no more replicas; the rest stay as they are."""
        self._ended = True
        self._go_on()
        for shard in list(self._asked):
            self._pop(shard)

    def discard(self, shard: ShardId) -> Asked | None:
        """Do not open a replica, or not here; return its callers. Calls go on, and look again."""
        if shard not in self._waiting:
            return None
        del self._waiting[shard]
        return self._pop(shard)

    def _pop(self, shard: ShardId) -> Asked | None:
        asked = self._asked.pop(shard, None)
        for call in () if asked is None else asked.calls:
            if not call.done():
                call.set_result(None)
        return asked

    def keep(self, name: str, message: Message) -> bool:
        """Open the replica that a message is for, and keep the message; False: there is none."""
        shard = self._names.get(name)
        if shard is None or shard not in self._waiting or self._ended:
            return False
        messages = self.ask(shard).messages
        if len(messages) < _KEPT:
            messages.append(message)
        return True

    async def opened(self, shard: ShardId, until: float) -> None:
        """Open a replica for a caller, and return when it is open, or at that time."""
        if shard not in self._waiting or self._ended:
            return
        call: asyncio.Future[None] = self._loop.create_future()
        self.want(shard).calls.append(call)
        await asyncio.wait([call], timeout=max(0.0, until - self._loop.time()))

    def want(self, shard: ShardId) -> Asked:
        """Open a replica for a caller that needs a leader."""
        asked = self.ask(shard)
        asked.wants_leader = True
        return asked

    def ask(self, shard: ShardId) -> Asked:
        """Open a replica before those without a request."""
        if shard not in self._waiting or self._ended:
            return Asked()
        if shard not in self._asked:
            self._asked[shard] = Asked()
            if len(self._asked) == 1:
                self._go_on()
        return self._asked[shard]

    def _go_on(self) -> None:
        if self._next is not None:
            self._next.cancel()
            self._next = None
        if self._ended:
            return
        if self._asked:
            self._next = self._loop.call_soon(self._open_some)
        elif self._in_turn and self._waiting:
            self._next = self._loop.call_at(self._due, self._open_some)

    def _open_some(self) -> None:
        """Open requested replicas for a while, or else one other."""
        self._next = None
        began = self._loop.time()
        if not self._asked and self._in_turn and self._waiting:
            self._open_in_turn(began)
        while self._asked and self._loop.time() < began + _TURN_S:
            self._open_one(next(iter(self._asked)))
        self._go_on()

    def _open_in_turn(self, now: float) -> None:
        if now - self._due > _LATE_S and now < self._overdue:
            self._due = now + _IDLE_S
            return
        self._open_one(next(iter(self._waiting)))
        ended = self._loop.time()
        self._due, self._overdue = ended + _IDLE_S, ended + (ended - now)

    def _open_one(self, shard: ShardId) -> None:
        self._opens(shard, self.discard(shard))
