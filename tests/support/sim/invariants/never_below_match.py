"""Entries travel once (Raft, 5.3): a leader never goes back below what was acknowledged."""

from typing import Final

from quorate.consensus.membership import Configuration
from quorate.consensus.messages import Append, AppendReply, Peer

from tests.support.sim.facts import Answered, Fact, Seen, Sent
from tests.support.sim.history import Violation


class NeverBelowMatch:
    """What a follower acknowledged in a term is not sent to it again in that term."""

    name = "next stays above match (5.3)"
    judges = (Answered, Seen, Sent)

    def __init__(self) -> None:
        #: By shard, leader and follower: the term, and what was acknowledged in it.
        self._matches: Final[dict[tuple[str, Peer, Peer], tuple[int, int]]] = {}
        self._configurations: Final[dict[tuple[str, Peer], Configuration | None]] = {}

    def see(self, fact: Fact) -> None:
        """Judge the entries of an append by the acknowledgements before it."""
        match fact:
            case Seen(configuration=configuration):
                self._forget_who_left(fact, configuration)
            case Answered(message=message) if isinstance(message.body, AppendReply):
                members = self._configurations.get((fact.shard, fact.peer))
                # A leader knows nothing of who is no member: what such a one says is not kept.
                if message.body.success and members and message.source in members.peers:
                    way = (fact.shard, fact.peer, message.source)
                    newest = (message.term, message.body.match)
                    self._matches[way] = max(self._matches.get(way, (0, 0)), newest)
            case Sent(message=message) if isinstance(message.body, Append) and message.body.entries:
                term, matched = self._matches.get((fact.shard, fact.peer, message.target), (0, 0))
                first = message.body.entries[0].index
                if message.term == term and first <= matched:
                    raise Violation(
                        self.name,
                        f"{fact.peer} of {fact.shard} sends entry {first} to {message.target}, who"
                        f" acknowledged {matched} in term {term}",
                    )

    def _forget_who_left(self, fact: Fact, configuration: Configuration | None) -> None:
        """Who leaves and comes again is another follower: nothing is known of it."""
        known = (fact.shard, fact.peer)
        if self._configurations.get(known) is configuration:
            return
        self._configurations[known] = configuration
        members = configuration.peers if configuration else ()
        for way in [way for way in self._matches if way[:2] == known and way[2] not in members]:
            del self._matches[way]
