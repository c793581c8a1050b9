"""The state of a replica, and the operations on it that all roles share."""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from quorate.consensus.inherited import Inherited, replaces
from quorate.consensus.journal import Journal
from quorate.consensus.log import RaftLog, Stored
from quorate.consensus.membership import Configuration
from quorate.consensus.messages import Body, Message, Peer, new
from quorate.consensus.progress import Progress
from quorate.consensus.reads import ReadOutcome, ReadRounds
from quorate.consensus.refusals import ReplicaStoppedError
from quorate.consensus.timing import Limits, Timing


@dataclass(slots=True)
class Ballot:
    """A candidate's votes."""

    term: int
    pre: bool
    transfer: bool
    granted: set[Peer]
    #: The own vote counts once it is durable.
    own_sequence: int


@dataclass(frozen=True, slots=True)
class Handover:
    """A leadership transfer; proposals are refused until it ends."""

    target: Peer
    deadline: float


class State(Inherited):
    """The state of a replica. `stored` is the state machine's."""

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
        #: Reads forwarded to the leader: the local token, and the deadline. Their numbers differ
        #: from those before a restart, whose answers may still arrive.
        self._forwarded_reads: dict[int, tuple[int, float]] = {}
        self._next_forwarded = rng.getrandbits(61)
        self._snapshots_needed: list[Peer] = []
        #: The deadline to send the commit index to followers; infinite: they have it.
        self._news_due = float("inf")
        #: When a read round extends to all followers; infinite: it need not.
        self._round_due = float("inf")
        self._leader_seen_at = float("-inf")
        #: Whether it lets others stand for election first, while one of them may be able to.
        self.reluctant: Callable[[], bool] = lambda: False
        #: Whether it may vote before it has a configuration: it is a member from the beginning, has
        #: never voted in another life, and only lacks the first state, which others have.
        self.founds = False
        #: When a leader last sent its commit index, and that index.
        self._agreed = float("-inf"), 0
        #: The last index at which this log is known to match the leader's of this term.
        self._verified = 0
        self._delivered = applied
        #: Refused messages by sender and reason.
        self.refused: Final[Counter[tuple[Peer, str]]] = Counter()
        #: Bytes of sent entries, repeats included.
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
        # What was applied before a crash was committed, and needs no leader to be applied again.
        self.commit = max(applied, min(journal.applied, log.last.index))
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
        """Adopt the log's configuration: it takes effect when appended."""
        configuration = self.log.configuration
        if configuration is not None:
            self.set_members(configuration.peers)

    def _commit_to(self, index: int) -> None:
        if index > self.commit:
            self.commit = index

    def _may_apply_to(self) -> int:
        return min(self.commit, self.log.synced_index)

    def applied_to(self, index: int) -> None:
        """Record that the store holds every entry up to an index."""
        if index > self.applied:
            self.applied = index
            self.log.journal.note_applied(index)
            self.log.forget_configurations(index)

    def _send(self, target: Peer, body: Body, needs: int = 0, *, term: int | None = None) -> None:
        """Enqueue a message until the term, and the write that it depends on, are durable."""
        log = self.log
        message = new(
            Message,
            (self.me, target, self.term if term is None else term, log.configuration_index, body),
        )
        self.outbox.hold(message, max(needs, log.state_sequence))
