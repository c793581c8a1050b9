"""What a replica holds, and the few changes of it that leaders, followers and candidates share."""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from quorate.consensus.inherited import Inherited, replaces
from quorate.consensus.journal import Journal
from quorate.consensus.log import RaftLog, Stored
from quorate.consensus.membership import Configuration
from quorate.consensus.messages import Body, Message, Peer
from quorate.consensus.progress import Progress
from quorate.consensus.reads import ReadOutcome, ReadRounds
from quorate.consensus.refusals import ReplicaStoppedError
from quorate.consensus.timing import Limits, Timing


@dataclass(slots=True)
class Ballot:
    """A candidate's count: each voter counts once."""

    term: int
    pre: bool
    transfer: bool
    granted: set[Peer]
    #: The own vote counts only when it is durable.
    own_sequence: int


@dataclass(frozen=True, slots=True)
class Handover:
    """A leadership transfer under way: no proposals are taken until it ends."""

    target: Peer
    deadline: float


class State(Inherited):
    """The state of a replica. `stored` is what the state machine's store holds."""

    def __init__(
        self,
        me: Peer,
        journal: Journal,
        *,
        applied: int,
        stored: Stored,
        clock: Callable[[], float],
        rng: random.Random,
        timing: Timing | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.me: Final = me
        self.timing: Final = timing or Timing()
        self.limits: Final = limits or Limits()
        self.clock: Final = clock
        self._rng: Final = rng
        self._ballot: Ballot | None = None
        self._handover: Handover | None = None
        self._followers: dict[Peer, Progress] = {}
        self._reads = ReadRounds()
        self._read_outcomes: list[ReadOutcome] = []
        #: Reads that were sent on to the leader: their token here, and until when to wait. They
        #: travel under numbers that an earlier life of this replica did not use: an answer to a
        #: question that it asked may still be under way.
        self._forwarded_reads: dict[int, tuple[int, float]] = {}
        self._next_forwarded = rng.getrandbits(61)
        self._snapshots_needed: list[Peer] = []
        #: When followers are told of a commit at the latest; infinite: they know.
        self._news_due = float("inf")
        #: When those are asked, too, whom a read round has spared; infinite: none waits for them.
        self._round_due = float("inf")
        #: When a leader of the own term was last heard; it says nothing of a leader itself.
        #: Soon after it nobody else is voted for; long after it a replica asks if it was removed.
        self.leader_heard_at = float("-inf")
        #: When a leader last said what is committed in all, and what it said.
        self._agreed = float("-inf"), 0
        #: The end of what the leader of this term is known to agree with.
        self._verified = 0
        self._delivered = applied
        #: What was refused of what peers sent, by sender and reason.
        self.refused: Final[Counter[tuple[Peer, str]]] = Counter()
        #: Bytes of entries that were sent, for each time that they were.
        self.entry_bytes_sent = 0
        log = RaftLog(journal, stored, self.limits.tail_bytes)
        if not log.sentinel.index <= applied <= log.last.index:
            raise ReplicaStoppedError(
                f"the store has applied index {applied}, and the log holds "
                f"{log.sentinel.index} to {log.last.index}",
                "replace this member: `quorate member replace`",
            )
        super().__init__(me, log)
        self.applied = applied
        self.commit = applied
        self._draw_election_deadline()
        self._configuration_changed()

    @replaces("__generateRaftTimeout")
    def draw_timeout(self) -> float:
        """Draw an election timeout."""
        return self._rng.uniform(self.timing.election_min_s, self.timing.election_max_s)

    def _draw_election_deadline(self) -> None:
        self.election_deadline = self.clock() + self.draw_timeout()

    def _configuration(self) -> Configuration:
        configuration = self.log.configuration
        if configuration is None:
            raise ReplicaStoppedError("there is no configuration", "form the shard first")
        return configuration

    def _configuration_changed(self) -> None:
        """Follow the log's configuration: it holds as soon as it is appended."""
        configuration = self.log.configuration
        if configuration is not None:
            self.set_members(configuration.peers)

    def _commit_to(self, index: int) -> None:
        if index > self.commit:
            self.commit = index

    def _may_apply_to(self) -> int:
        return min(self.commit, self.log.synced_index)

    def _mark_applied(self, index: int) -> None:
        if index > self.applied:
            self.applied = index
            self.log.forget_configurations(index)

    def _send(self, target: Peer, body: Body, needs: int = 0, *, term: int | None = None) -> None:
        """Give a message out once the own term, and what it depends on, is durable."""
        message = Message(
            self.me,
            target,
            self.term if term is None else term,
            self.log.configuration_index,
            body,
        )
        self.outbox.hold(message, max(needs, self.log.state_sequence))
