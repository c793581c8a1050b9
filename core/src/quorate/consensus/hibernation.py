"""Rest: a shard without traffic has no heartbeats, timers or wake-ups of its own.

The leader of an idle shard asks its followers to rest. Those that hold all of its log, all of it
committed, agree, and drop their election timers for as long as the leader's node is alive in the
epoch that the leader named. Once every follower has agreed, or is silent, and a majority rests,
the leader rests too. Anything that happens to the shard, or to a node that it relies on, wakes it.
"""

from collections.abc import Callable, Iterable
from typing import Final

from quorate.consensus.inherited import LEADER
from quorate.consensus.liveness import Liveness
from quorate.consensus.messages import (
    Append,
    AppendReply,
    Heartbeat,
    HeartbeatReply,
    Hibernate,
    Hibernating,
    Message,
    ReadReply,
    VoteReply,
    Wakeup,
)
from quorate.consensus.state import State

#: What says nothing new to a leader and to a follower at rest. Entries, heartbeats and other
#: terms end the rest where they are handled.
_HARMLESS: Final = (
    Append,
    AppendReply,
    Heartbeat,
    HeartbeatReply,
    ReadReply,
    Hibernate,
    Hibernating,
    VoteReply,
)


class Hibernation(State):
    """A replica's part of rest that both roles share."""

    #: Without it a replica never rests.
    liveness: Liveness | None = None
    #: Whether this replica rests.
    resting = False
    #: When this leader last did anything for a caller or for another replica.
    _active_at = float("-inf")
    #: Whether this replica has asked for rest when it last led.
    _offered = False
    _driven: Callable[[Callable[[], None]], None] | None = None

    def rests_by(
        self, liveness: Liveness, driven: Callable[[Callable[[], None]], None] | None = None
    ) -> None:
        """Rest from now on when the shard is idle; `driven` makes the calls of `liveness`."""
        self.liveness = liveness
        self._driven = driven

    def rouse(self, node: str) -> None:
        """Wake: a node that it relies on has changed."""
        self._call(self._wake)

    def retire(self) -> None:
        """Rest no more: this replica ends. Who rests under it must hear of that."""
        if self.liveness is None:
            return
        self.liveness.candidates.leave(self)
        self.liveness.forget(self)
        if self._offered:
            self.liveness.renew()

    def _call(self, act: Callable[[], None]) -> None:
        if self._driven is None:
            act()
        else:
            self._driven(act)

    def _fall_asleep(self, nodes: Iterable[str]) -> None:
        assert self.liveness is not None
        self.resting = True
        self.liveness.watch(self, nodes)

    def _wake(self) -> None:
        """End the rest, and have the leader say that it lives."""
        if not self.resting:
            return
        leader = self.leader
        self._end_rest()
        if self.role == LEADER:
            self.heartbeat_deadline = self.clock()
        elif leader is not None:
            self._send(leader, Wakeup())

    def _wake_for(self, message: Message) -> None:
        """Wake for a message to a replica at rest, if it says anything new."""
        if not isinstance(message.body, _HARMLESS):
            self._wake()

    def _end_rest(self) -> None:
        """Have timers again."""
        if not self.resting:
            return
        now, seen_at = self.clock(), self.leader_seen_at
        self.resting = False
        assert self.liveness is not None
        self.liveness.forget(self)
        self._active_at = now
        if self.role == LEADER:
            self._back_to_work(now)
        else:
            # As if the last heartbeat of the node had been the leader's own.
            self._leader_seen_at = seen_at
            timeout = self.draw_timeout()
            late = seen_at + timeout <= now
            self.election_deadline = now - self.timing.election_min_s if late else seen_at
            self.election_deadline += timeout

    def _back_to_work(self, now: float) -> None:
        raise NotImplementedError

    def stand(self) -> None:
        """Stand for election now, unless there is a leader: another replica has made room."""
        raise NotImplementedError

    @property
    def leader_seen_at(self) -> float:
        """When the leader of this term was last in contact; meaningless on the leader.

        Soon after it no other candidate gets a vote; long after it a replica asks if it was
        removed.
        """
        if self.resting and self.role != LEADER and self.leader is not None:
            assert self.liveness is not None
            return max(self._leader_seen_at, self.liveness.heard_at(self.leader.node))
        return self._leader_seen_at
