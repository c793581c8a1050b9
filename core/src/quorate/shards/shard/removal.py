"""Detects that a replica was removed: its leader just stops sending to it."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from typing import Final

from quorate.consensus.driver import Alarms
from quorate.consensus.inherited import LEADER
from quorate.consensus.membership import Configuration
from quorate.consensus.messages import Peer
from quorate.consensus.replica import Replica
from quorate.plugin.shard_id import ShardId

#: After this many election timeouts without a leader a replica asks for the members.
_ELECTIONS: Final = 10
#: Replicas look at multiples of this part of that time, so that those of a node look together.
_PARTS: Final = 5


@dataclass(frozen=True, slots=True)
class Membership:
    """A committed configuration, and its index."""

    index: int
    configuration: Configuration


#: Asks a node for the members of a shard; None if it does not know them.
AskMembers = Callable[[ShardId, str], "asyncio.Future[Membership | None]"]


class RemovedError(Exception):
    """The shard continues without this replica."""

    def __init__(self, shard: ShardId, me: Peer, membership: Membership) -> None:
        members = ", ".join(str(peer) for peer in membership.configuration.peers)
        super().__init__(
            f"{me} was removed from shard {shard}: since index {membership.index} its members are"
            f" {members}; to have this node again, empty its node.dir, start it with"
            " [cluster] join, and add it with `quorate member add`"
        )


class RemovalWatch:
    """Asks other nodes after a long time without a leader.

    Their answers are committed configurations. One that is later than this replica's and lacks it
    is proof; a replica that was added again is in contact with its leader before it asks.
    """

    def __init__(
        self,
        shard: ShardId,
        replica: Replica,
        loop: asyncio.AbstractEventLoop,
        ask_members: AskMembers | None,
        alarms: Alarms,
        *,
        removed: Callable[[RemovedError], None],
    ) -> None:
        self._shard: Final = shard
        self._replica: Final = replica
        self._clock: Final = loop.time
        self._ask_members: Final = ask_members
        self._removed: Final = removed
        self._patience_s: Final = _ELECTIONS * replica.timing.election_max_s
        self._alarms: Final = alarms
        self._stopped = False

    def start(self) -> None:
        """Start."""
        if self._ask_members is not None:
            self._look_at(self._clock() + self._patience_s)

    def stop(self) -> None:
        """Stop."""
        self._stopped = True

    def _look_at(self, due: float) -> None:
        part_s = self._patience_s / _PARTS
        self._alarms.set(ceil(due / part_s) * part_s - self._clock(), self._ring)

    def _ring(self, _: int) -> None:
        if not self._stopped:
            self._look_at(self._look(self._clock()))

    def _look(self, now: float) -> float:
        replica, ask_members = self._replica, self._ask_members
        heard = now if replica.role == LEADER else replica.leader_seen_at
        if now - heard < self._patience_s:
            return heard + self._patience_s
        configuration = replica.log.configuration
        if configuration is not None and ask_members is not None:
            for peer in configuration.peers:
                if peer != replica.me:
                    ask_members(self._shard, peer.node).add_done_callback(self._told)
        # Few questions are asked at a time: the same replicas must not always come first.
        return now + _ELECTIONS * replica.draw_timeout()

    def _told(self, answer: asyncio.Future[Membership | None]) -> None:
        if answer.cancelled() or answer.exception() is not None:
            return
        membership, replica = answer.result(), self._replica
        if membership is None or membership.index <= replica.log.configuration_index:
            return
        if replica.me not in membership.configuration.peers:
            self._removed(RemovedError(self._shard, replica.me, membership))
