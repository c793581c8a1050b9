"""One replica of a shard: the calls of its driver, and the messages of its peers.

It runs on one thread and has no I/O of its own: clock, randomness and journal are injected, and its
output is messages to send, entries to apply and safe reads. Raft's decisions are where the paper
has them: `electing`, `leading` and `following`, over one `state`.
"""

from typing import Final

from quorate.consensus.electing import Electing
from quorate.consensus.inherited import CANDIDATE, FOLLOWER, LEADER, ROLE_NAMES, replaces
from quorate.consensus.journal import Position
from quorate.consensus.membership import Configuration
from quorate.consensus.messages import (
    COMMAND,
    Append,
    AppendReply,
    Body,
    Entry,
    EntryKind,
    Heartbeat,
    HeartbeatReply,
    Hibernate,
    Hibernating,
    Message,
    Peer,
    ReadReply,
    ReadRequest,
    RequestVote,
    TimeoutNow,
    VoteReply,
    Wakeup,
)
from quorate.consensus.progress import PROBE, REPLICATE, SNAPSHOT
from quorate.consensus.reads import Asker, ReadOutcome
from quorate.consensus.refusals import (
    ChangeRefusedError,
    EntryTooLargeError,
    NotLeaderError,
    ReplicaStoppedError,
    TransferRefusedError,
)
from quorate.consensus.state import Handover
from quorate.consensus.status import FollowerStatus, Proposed, ReplicaStatus

#: Tuples: a union would be made anew with each message.
_ANSWERS: Final = (AppendReply, HeartbeatReply, Hibernating)
_OF_VOTES: Final = (RequestVote, VoteReply)


class Replica(Electing):
    """One replica of a shard."""

    # Called by the driver.

    def bootstrap(self, configuration: Configuration, patience_s: float | None = None) -> None:
        """Write the first entry of a new shard, the same on every initial member.

        With `patience_s` the first campaign starts after that time: there is no leader yet.
        """
        if self.log.last != Position(0, 0) or self.log.configuration is not None:
            raise ReplicaStoppedError("the shard is formed already", "start it without forming it")
        self.log.append([Entry(1, 0, EntryKind.CONFIG, configuration.encode())])
        self._configuration_changed()
        self._draw_election_deadline()
        if patience_s is not None:
            self.election_deadline = min(self.election_deadline, self.clock() + patience_s)

    def put_off(self, delay_s: float) -> None:
        """Stand for election later by this time: other shards of the node begin first."""
        if self.election_deadline <= self.clock():
            self._draw_election_deadline()
        self.election_deadline += delay_s

    def tick(self) -> None:
        """Handle timeouts; call it at `deadline`."""
        self.on_time()

    @property
    def deadline(self) -> float:
        """When to call `tick`."""
        if self.resting:
            return min((until for _, until in self._forwarded_reads.values()), default=float("inf"))
        if self.role == LEADER:
            due = self.heartbeat_deadline
            if self._news_due < due:
                due = self._news_due
            if self._round_due < due:
                due = self._round_due
            return min(due, self._handover.deadline) if self._handover else due
        if not self._forwarded_reads:
            return self.election_deadline
        return min(self.election_deadline, *(until for _, until in self._forwarded_reads.values()))

    def propose(self, payload: bytes, term: int | None = None) -> Proposed:
        """Append a command to the leader's log; with `term`, only while it leads in that term."""
        if self.role != LEADER or self._handover or term not in (None, self.term):
            raise NotLeaderError(self.leader if self.leader != self.me else None)
        if len(payload) > self.limits.entry_bytes:
            raise EntryTooLargeError(len(payload), self.limits.entry_bytes)
        return self._append_own(COMMAND, payload)

    def change_membership(self, configuration: Configuration) -> Proposed:
        """Append a new configuration, one change at a time; raises `ChangeRefusedError`."""
        if self.role != LEADER or self._handover:
            raise NotLeaderError(self.leader if self.leader != self.me else None)
        reason = self._change_refusal(configuration)
        if reason is not None:
            raise ChangeRefusedError(reason)
        return self._append_own(EntryKind.CONFIG, configuration.encode())

    def transfer(self, node: str) -> None:
        """Transfer leadership to a voter, which campaigns once it holds the whole log."""
        if self.role != LEADER:
            raise NotLeaderError(self.leader)
        configuration = self._configuration()
        target = next((peer for peer in configuration.voters if peer.node == node), None)
        if target is None or target == self.me:
            raise TransferRefusedError(f"{node} is not another voter of this shard")
        if self._handover is not None:
            raise TransferRefusedError(f"a transfer to {self._handover.target.node} is in progress")
        self._be_active()
        self._handover = Handover(target, self.clock() + self.timing.election_max_s)
        self._try_handover()

    def campaign(self) -> None:
        """Stand for election at the next tick, unless a leader is known."""
        if self.leader is None and self.role != LEADER:
            self.election_deadline = min(self.election_deadline, self.clock())

    def read_index(self, token: int) -> None:
        """Request the index that a linearizable read must wait for; see `take_reads`."""
        if self.role == LEADER:
            self._be_active()
            self._reads.ask(Asker(None, token))
            self._try_read_round()
        elif self.leader is not None:
            until = self.clock() + self.timing.election_max_s
            self._forwarded_reads[self._next_forwarded] = token, until
            self._send(self.leader, ReadRequest(self._next_forwarded))
            self._next_forwarded += 1
        else:
            self._read_outcomes.append(ReadOutcome(token, None))

    def synced(self, sequence: int) -> None:
        """Record that journal writes up to `sequence` are durable."""
        self.log.synced(sequence)
        if self.role == CANDIDATE:
            self._count_votes()
        if self.role == LEADER:
            self._advance_commit()

    def bulk_remade(self, node: str) -> None:
        """Record that the bulk stream to a node was replaced, and what was on it lost."""
        for follower in self._followers.values():
            if follower.peer.node != node:
                continue
            self._wake()
            if follower.mode is REPLICATE:
                follower.probe(follower.match + 1)
            elif follower.mode is PROBE:
                # Only a probe was in flight; its index is still the best guess.
                follower.probe(follower.next)

    def snapshot_given_up(self, node: str) -> None:
        """Record that a snapshot did not reach a node, which may need another."""
        for follower in self._followers.values():
            if follower.peer.node == node and follower.mode is SNAPSHOT:
                follower.probe(follower.match + 1)

    def snapshot_installed(self, position: Position, configuration: Configuration) -> bool:
        """Record that a snapshot moved the store to `position`, durably.

        False: the snapshot is not ahead of the commit index, and must not be used.
        """
        if not self._snapshot_is_ahead(position):
            return False
        if position.term > self.term:
            self._step_down(position.term, None)
        if self.log.term_of(position.index) == position.term:
            self.log.compact_to(position.index)
        else:
            # This log lacks committed entries: it must not lead or win votes.
            if self.role != FOLLOWER:
                self._step_down(self.term, None)
            self.log.reset(position, configuration)
            self._verified = 0
        self.commit = position.index
        self.applied_to(position.index)
        self._delivered = position.index
        self._configuration_changed()
        if self.leader is not None and self.role == FOLLOWER:
            self._verified = max(self._verified, position.index)
            reply = AppendReply(True, position.index, position.index)
            self._send(self.leader, reply, self.log.journal.written)
        return True

    def _snapshot_is_ahead(self, position: Position) -> bool:
        return position.index > self.commit

    @property
    def agreed(self) -> tuple[float, int]:
        """A moment, and an index that covers all that was committed then.

        The moment is minus infinity while it is unknown.
        """
        if self.role == LEADER:
            self._note_agreed()
        elif self.resting:
            self._agreed = self.leader_seen_at, self.commit
        return self._agreed

    def compact_to(self, index: int) -> None:
        """Compact the log: drop entries at and below an applied index."""
        if index > self.applied:
            raise ValueError(f"index {index} is not applied yet, {self.applied} is")
        if index > self.log.sentinel.index:
            self.log.compact_to(index)

    def take_messages(self) -> list[Message]:
        """Return the messages to send; those that depend on a write that is not durable stay."""
        if self.role == LEADER:
            self.send_appends()
        return self.outbox.release(self.log.synced_sequence)

    def waits(self) -> bool:
        """Whether it leads, and waits for others with nothing to send, to apply or to answer."""
        return (
            self.role == LEADER
            and self.outbox.is_empty
            and not self.has_committed()
            and not self._read_outcomes
            and not self._snapshots_needed
            and all(map(self._has_all, self._followers.values()))
        )

    def has_committed(self) -> bool:
        """Whether there are entries to apply."""
        return self._delivered < self.commit and self._delivered < self._may_apply_to()

    def take_committed(self, max_bytes: int) -> list[Entry]:
        """Return the next entries to apply: committed, and durable here."""
        end = self._may_apply_to()
        if self._delivered >= end:
            return []
        entries = self.log.slice(self._delivered + 1, end, max_bytes)
        self._delivered = entries[-1].index
        return entries

    def take_reads(self) -> list[ReadOutcome]:
        """Return the results of local reads."""
        outcomes, self._read_outcomes = self._read_outcomes, []
        return outcomes

    def take_snapshots_needed(self) -> list[Peer]:
        """Return followers that need compacted entries, each once until it is answered."""
        needed, self._snapshots_needed = self._snapshots_needed, []
        return needed

    def status(self) -> ReplicaStatus:
        """Return the replica's status."""
        now = self.clock()
        return ReplicaStatus(
            role=ROLE_NAMES[self.role],
            term=self.term,
            voted_for=self.voted_for,
            leader=self.leader,
            first=self.log.first_index,
            last=self.log.last.index,
            synced=self.log.synced_index,
            commit=self.commit,
            applied=self.applied,
            configuration=self.log.configuration,
            configuration_index=self.log.configuration_index,
            followers=tuple(
                FollowerStatus(
                    peer=follower.peer,
                    mode=follower.mode.value,
                    match=follower.match,
                    next=follower.next,
                    silent_s=now - self._heard(follower.peer),
                )
                for follower in self._followers.values()
            ),
        )

    # Messages: membership and terms (section 5.1).

    def receive(self, message: Message) -> None:
        """Process a message of a peer; an invalid one is refused and counted."""
        source = message.source
        reason = self._stranger(message)
        if reason is not None:
            self.refused[source, reason] += 1
            return
        if self.resting:
            self._wake_for(message)
        if message.term != self.term and not self._takes_term(message):
            return
        body = message.body
        if isinstance(body, _ANSWERS) and (follower := self._followers.get(source)) is not None:
            # Only answers count: a candidate is not in contact with this leader.
            follower.last_seen_at = self.clock()
        match body:
            case AppendReply():
                self._on_append_reply(source, body)
            case Append():
                self._follow(source)
                self._on_append(source, body)
            case HeartbeatReply():
                self._on_heartbeat_reply(source, body)
            case Heartbeat():
                self._follow(source)
                self._on_heartbeat(source, body)
            case RequestVote():
                self._on_request_vote(source, message.term, body)
            case VoteReply():
                self._on_vote_reply(source, body)
            case TimeoutNow():
                self._on_timeout_now(source)
            case ReadRequest():
                self._on_read_request(source, body)
            case ReadReply():
                self._on_read_reply(body)
            case Hibernate():
                self._follow(source)
                self._on_rest(source, body)
            case Hibernating():
                self._on_rests(source, body)
            case Wakeup():
                self._on_wake(source)

    @replaces("__onMessageReceived")
    def on_message(self, _: Peer, message: Message) -> None:
        """Process a message."""
        self.receive(message)

    def _takes_term(self, message: Message) -> bool:
        """Adopt a later term of a message, or answer an older one; whether to process it."""
        body = message.body
        if message.term < self.term:
            self._answer_stale(message)
            return False
        if isinstance(body, _OF_VOTES) and body.pre and _stands_ahead(body):
            return True
        if isinstance(body, RequestVote) and not body.transfer and self._has_leader():
            self._send(message.source, VoteReply(False, body.pre, message.term))
            return False
        self._step_down(message.term, None)
        return True

    def _stranger(self, message: Message) -> str | None:
        """Return why a message is refused, as misaddressed or not from a member, or None.

        A sender with a later configuration than ours cannot be checked, and is accepted; so is
        any leader while a learner has no configuration, and any candidate while a founder has none.
        """
        if message.target != self.me:
            return "it is addressed to another replica"
        if message.source == self.me:
            return "it claims to come from this replica itself"
        if self.log.configuration is None:
            leads = isinstance(message.body, Append | Heartbeat | Hibernate)
            if leads or (self.founds and isinstance(message.body, RequestVote)):
                return None
            return "this replica has no configuration yet"
        if self.log.known(message.source, self.commit):
            return None
        if message.config_index > self.log.configuration_index:
            return None
        return "its sender is no member"

    def _answer_stale(self, message: Message) -> None:
        """Send our term to the sender of an older one: an old leader must step down."""
        match message.body:
            case RequestVote(pre=pre):
                self._send(message.source, VoteReply(False, pre, message.term))
            case Append() | Heartbeat() | Hibernate():
                # When it arrives, the sender may lead in our term: confirm nothing.
                self._send(message.source, HeartbeatReply(0, 0))
            case _:
                pass


def _stands_ahead(body: Body) -> bool:
    """Whether the term of a pre-vote message is the one that a candidate would lead in."""
    return isinstance(body, RequestVote) or (isinstance(body, VoteReply) and body.granted)
