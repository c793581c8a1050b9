"""Promises are durable before they are made (Raft, Figure 2: "before responding to RPCs")."""

from typing import Final

from quorate.consensus.messages import AppendReply, HeartbeatReply, RequestVote, VoteReply

from tests.support.sim.durable import DurableLog, DurableLogs
from tests.support.sim.facts import Fact, Sent
from tests.support.sim.history import Violation


class DurablePromises:
    """A term, a vote and an acknowledgement are on the disk before anybody hears of them."""

    name = "durable before told (Figure 2)"
    judges = (Sent,)

    def __init__(self, logs: DurableLogs) -> None:
        self._logs: Final = logs

    def see(self, fact: Fact) -> None:
        """Judge a message."""
        if not isinstance(fact, Sent):
            return
        log = self._logs.of(fact.shard, fact.peer)
        if log is None:
            return
        lacks = self._lacks(fact, log)
        if lacks is not None:
            raise Violation(
                self.name,
                f"{fact.peer} of {fact.shard} sends {fact.message.body} in term"
                f" {fact.message.term}, and its disk holds {lacks}",
            )

    def _lacks(self, fact: Sent, log: DurableLog) -> str | None:
        message, state = fact.message, log.hard_state
        asks_ahead = isinstance(message.body, RequestVote | VoteReply) and message.body.pre
        if not asks_ahead and state.term < message.term:
            return f"term {state.term}"
        match message.body:
            case RequestVote(pre=False):
                promised = message.source
            case VoteReply(pre=False, granted=True):
                promised = message.target
            case AppendReply(success=True, match=match) | HeartbeatReply(match=match):
                return f"entries up to {log.last}" if log.last < match else None
            case _:
                return None
        if state.term == message.term and state.voted_for != promised:
            return f"a vote for {state.voted_for}"
        return None
