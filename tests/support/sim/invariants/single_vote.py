"""One vote (Raft, 5.2): a replica votes for at most one candidate in a term, restarts or not."""

from typing import Final

from quorate.consensus.messages import Peer, RequestVote, VoteReply

from tests.support.sim.facts import Fact, Sent
from tests.support.sim.history import Violation


class SingleVote:
    """A vote is a promise that outlives the process; asking for votes is voting for oneself."""

    name = "one vote a term (5.2)"
    judges = (Sent,)

    def __init__(self) -> None:
        self._votes: Final[dict[tuple[str, Peer, int], Peer]] = {}

    def see(self, fact: Fact) -> None:
        """Judge a message that is a vote."""
        if not isinstance(fact, Sent):
            return
        message = fact.message
        match message.body:
            case RequestVote(pre=False):
                candidate = message.source
            case VoteReply(pre=False, granted=True):
                candidate = message.target
            case _:
                return
        vote = (fact.shard, fact.peer, message.term)
        first = self._votes.setdefault(vote, candidate)
        if first != candidate:
            raise Violation(
                self.name,
                f"{fact.peer} of {fact.shard} votes for {first} and for {candidate}"
                f" in term {message.term}",
            )
