"""One replica of a shard: the decisions of Raft, each where the paper has it.

Driven by calls, on one thread. It reads no clock, no randomness, no disk and no network but what
it was given; it gives out messages to send, entries to apply and reads that are safe.
"""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from quorate.consensus.inherited import CANDIDATE, FOLLOWER, LEADER, ROLE_NAMES, Inherited, replaces
from quorate.consensus.journal import Journal, Position
from quorate.consensus.log import RaftLog, Stored
from quorate.consensus.membership import Configuration
from quorate.consensus.messages import (
    Append,
    AppendReply,
    Body,
    Entry,
    EntryKind,
    Heartbeat,
    HeartbeatReply,
    Message,
    Peer,
    ReadReply,
    ReadRequest,
    RequestVote,
    TimeoutNow,
    VoteReply,
    weight,
)
from quorate.consensus.progress import Mode, Progress
from quorate.consensus.reads import Asker, ReadOutcome, ReadRounds
from quorate.consensus.refusals import (
    ChangeRefusedError,
    EntryTooLargeError,
    NotLeaderError,
    ReplicaStoppedError,
    TransferRefusedError,
)
from quorate.consensus.timing import Limits, Timing


@dataclass(frozen=True, slots=True)
class Proposed:
    """Where a proposal stands in the log; it may still be overwritten there."""

    index: int
    term: int


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


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowerStatus:
    """What a leader knows of one follower."""

    peer: Peer
    mode: str
    match: int
    next: int
    heard_ago_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaStatus:
    """What a replica is doing, for people and for tests."""

    role: str
    term: int
    voted_for: Peer | None
    leader: Peer | None
    first: int
    last: int
    synced: int
    commit: int
    applied: int
    configuration: Configuration | None
    configuration_index: int
    followers: tuple[FollowerStatus, ...]


class Replica(Inherited):
    """One replica; see the module. `stored` is what the state machine's store holds."""

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
        self._leader_heard_at = float("-inf")
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

    # What the driver calls.

    def bootstrap(self, configuration: Configuration) -> None:
        """Write the first entry of a new shard: the same one on every initial member."""
        if self.log.last != Position(0, 0) or self.log.configuration is not None:
            raise ReplicaStoppedError("the shard is formed already", "start it without forming it")
        self.log.append([Entry(1, 0, EntryKind.CONFIG, configuration.encode())])
        self._configuration_changed()
        self._draw_election_deadline()

    def receive(self, message: Message) -> None:
        """Take what a peer sent. Whatever it is, it is dealt with or refused, and counted."""
        self.on_message(message.source, message)

    def tick(self) -> None:
        """Do what time asks for; to be called when `deadline` has come."""
        self.on_time()

    @property
    def deadline(self) -> float:
        """When `tick` has something to do."""
        if self.role == LEADER:
            due = self.heartbeat_deadline
            return min(due, self._handover.deadline) if self._handover else due
        waiting = (until for _, until in self._forwarded_reads.values())
        return min(self.election_deadline, min(waiting, default=float("inf")))

    def propose(self, payload: bytes, term: int | None = None) -> Proposed:
        """Append a command to the leader's log; with `term`, only while it leads in that term."""
        if self.role != LEADER or self._handover or term not in (None, self.term):
            raise NotLeaderError(self.leader if self.leader != self.me else None)
        if len(payload) > self.limits.entry_bytes:
            raise EntryTooLargeError(len(payload), self.limits.entry_bytes)
        return self._append_own(EntryKind.COMMAND, payload)

    def change_membership(self, configuration: Configuration) -> Proposed:
        """Append a new configuration, one change at a time; raises `ChangeRefusedError`."""
        if self.role != LEADER or self._handover:
            raise NotLeaderError(self.leader if self.leader != self.me else None)
        reason = self._change_refusal(configuration)
        if reason is not None:
            raise ChangeRefusedError(reason)
        return self._append_own(EntryKind.CONFIG, configuration.encode())

    def transfer(self, node: str) -> None:
        """Hand leadership to a voter: as soon as it holds the whole log, it campaigns."""
        if self.role != LEADER:
            raise NotLeaderError(self.leader)
        configuration = self._configuration()
        target = next((peer for peer in configuration.voters if peer.node == node), None)
        if target is None or target == self.me:
            raise TransferRefusedError(f"{node} is no other voter of this shard")
        if self._handover is not None:
            raise TransferRefusedError(f"a transfer to {self._handover.target.node} is under way")
        self._handover = Handover(target, self.clock() + self.timing.election_max_s)
        self._try_handover()

    def read_index(self, token: int) -> None:
        """Ask for an index that a linearizable read must have applied; see `take_reads`."""
        if self.role == LEADER:
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
        """Take note that the journal's writes up to this number are durable."""
        self.log.synced(sequence)
        if self.role == CANDIDATE:
            self._count_votes()
        if self.role == LEADER:
            self._advance_commit()

    def bulk_remade(self, node: str) -> None:
        """Take note that the bulk stream to a node is a new one: what was on it is lost."""
        for follower in self._followers.values():
            if follower.peer.node != node:
                continue
            if follower.mode is Mode.REPLICATE:
                follower.probe(follower.match + 1)
            elif follower.mode is Mode.PROBE:
                # Only a question was under way; where it asks is the best guess still.
                follower.probe(follower.next)

    def snapshot_given_up(self, node: str) -> None:
        """Take note that a snapshot for a node did not arrive; it may be needed again."""
        for follower in self._followers.values():
            if follower.peer.node == node and follower.mode is Mode.SNAPSHOT:
                follower.probe(follower.match + 1)

    def snapshot_installed(self, position: Position, configuration: Configuration) -> bool:
        """Take note that the store now stands at `position`, durably.

        False: the snapshot is not ahead of what was committed here, and must not be used.
        """
        if not self._snapshot_is_ahead(position):
            return False
        if position.term > self.term:
            self._step_down(position.term, None)
        if self.log.term_of(position.index) == position.term:
            self.log.compact_to(position.index)
        else:
            # What was committed is not in this log: it may lead nobody, and win no votes.
            if self.role != FOLLOWER:
                self._step_down(self.term, None)
            self.log.reset(position, configuration)
            self._verified = 0
        self.commit = position.index
        self._mark_applied(position.index)
        self._delivered = position.index
        self._configuration_changed()
        if self.leader is not None and self.role == FOLLOWER:
            self._verified = max(self._verified, position.index)
            reply = AppendReply(True, position.index, position.index)
            self._send(self.leader, reply, self.log.journal.written)
        return True

    def compact_to(self, index: int) -> None:
        """Cut the log: entries at and below an applied index are not needed any more."""
        if index > self.applied:
            raise ValueError(f"index {index} is not applied yet, {self.applied} is")
        if index > self.log.sentinel.index:
            self.log.compact_to(index)

    def applied_to(self, index: int) -> None:
        """Take note that the store holds every entry up to an index."""
        self._mark_applied(index)

    def take_messages(self) -> list[Message]:
        """Return what may leave now; what depends on a write that is not durable stays."""
        if self.role == LEADER:
            self.send_appends()
        return self.outbox.release(self.log.synced_sequence)

    def take_committed(self, max_bytes: int) -> list[Entry]:
        """Return the next entries to apply: committed, and durable here."""
        end = self._may_apply_to()
        if self._delivered >= end:
            return []
        entries = self.log.slice(self._delivered + 1, end, max_bytes)
        self._delivered = entries[-1].index
        return entries

    def take_reads(self) -> list[ReadOutcome]:
        """Return the reads that were asked for here and are answered."""
        outcomes, self._read_outcomes = self._read_outcomes, []
        return outcomes

    def take_snapshots_needed(self) -> list[Peer]:
        """Return followers that need what was cut from the log, each once until it is answered."""
        needed, self._snapshots_needed = self._snapshots_needed, []
        return needed

    def status(self) -> ReplicaStatus:
        """Say what this replica is doing."""
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
                    heard_ago_s=now - follower.heard_at,
                )
                for follower in self._followers.values()
            ),
        )

    # Time (Raft, sections 5.2 and 6).

    @replaces("_onTick")
    def on_time(self, _: float = 0.0) -> None:
        """Campaign, send heartbeats, or step down when no majority answers."""
        now = self.clock()
        if self.role == LEADER:
            if not self._hears_a_majority(now):
                self._step_down(self.term, None)
            elif now >= self.heartbeat_deadline:
                self._send_heartbeats()
            if self._handover is not None and now >= self._handover.deadline:
                self._handover = None
        for sent in [sent for sent, (_, until) in self._forwarded_reads.items() if until <= now]:
            token, _ = self._forwarded_reads.pop(sent)
            self._read_outcomes.append(ReadOutcome(token, None))
        if self.role != LEADER and now >= self.election_deadline:
            self._draw_election_deadline()
            if self._may_campaign():
                self._campaign(pre=True)

    @replaces("__generateRaftTimeout")
    def draw_timeout(self) -> float:
        """Draw an election timeout."""
        return self._rng.uniform(self.timing.election_min_s, self.timing.election_max_s)

    def _draw_election_deadline(self) -> None:
        self.election_deadline = self.clock() + self.draw_timeout()

    def _hears_a_majority(self, now: float) -> bool:
        configuration = self._configuration()
        since = now - self.timing.quorum_window_s
        heard = sum(
            1 for peer in configuration.voters if peer == self.me or self._heard(peer) >= since
        )
        return heard >= configuration.majority

    def _heard(self, peer: Peer) -> float:
        follower = self._followers.get(peer)
        return follower.heard_at if follower else float("-inf")

    # Messages: who may say what, and what a term means (section 5.1).

    @replaces("__onMessageReceived")
    def on_message(self, source: Peer, message: Message) -> None:
        """Refuse strangers, settle the terms, then deal with the body."""
        reason = self._stranger(message)
        if reason is not None:
            self.refused[source, reason] += 1
            return
        body = message.body
        asks_ahead = isinstance(body, RequestVote | VoteReply) and body.pre
        if message.term > self.term and not (asks_ahead and _stands_ahead(body)):
            if isinstance(body, RequestVote) and not body.transfer and self._hears_a_leader():
                self._send(source, VoteReply(False, body.pre, message.term))
                return
            self._step_down(message.term, None)
        elif message.term < self.term:
            self._answer_stale(message)
            return
        follower = self._followers.get(source)
        if follower is not None and isinstance(body, AppendReply | HeartbeatReply):
            # Answers alone: who asks for votes has not heard this leader.
            follower.heard_at = self.clock()
        match body:
            case RequestVote():
                self._on_request_vote(source, message.term, body)
            case VoteReply():
                self._on_vote_reply(source, body)
            case Append():
                self._follow(source)
                self._on_append(source, body)
            case AppendReply():
                self._on_append_reply(source, body)
            case Heartbeat():
                self._follow(source)
                self._on_heartbeat(source, body)
            case HeartbeatReply():
                self._on_heartbeat_reply(source, body)
            case TimeoutNow():
                self._on_timeout_now(source)
            case ReadRequest():
                self._on_read_request(source, body)
            case ReadReply():
                self._on_read_reply(body)

    def _stranger(self, message: Message) -> str | None:
        """Say why a message is not for this replica or not from a member, or None.

        A sender that acts under a later configuration than ours cannot be judged here, and is
        believed; so is any leader by a learner that has no configuration yet.
        """
        if message.target != self.me:
            return "it is addressed to another replica"
        if message.source == self.me:
            return "it claims to come from this replica itself"
        if self.log.configuration is None:
            leads = isinstance(message.body, Append | Heartbeat)
            return None if leads else "this replica has no configuration yet"
        if self.log.known(message.source, self.commit):
            return None
        if message.config_index > self.log.configuration_index:
            return None
        return "its sender is no member"

    def _answer_stale(self, message: Message) -> None:
        """Tell the sender of an older term about ours: an old leader must step down."""
        match message.body:
            case RequestVote(pre=pre):
                self._send(message.source, VoteReply(False, pre, message.term))
            case Append() | Heartbeat():
                # The sender may lead in our term once this arrives: it must confirm nothing.
                self._send(message.source, HeartbeatReply(0, 0))
            case _:
                pass

    def _step_down(self, term: int, leader: Peer | None) -> None:
        """Become a follower, in a later term without a vote."""
        if term > self.term:
            self.set_hard_state(term, None)
            self._verified = 0
        was_follower = self.role == FOLLOWER
        self.set_role(FOLLOWER)
        self.leader = leader
        self._ballot = None
        self._handover = None
        self._followers = {}
        self._snapshots_needed.clear()
        for asker in self._reads.abandon():
            self._answer_read(asker, None)
        if not was_follower:
            self._draw_election_deadline()

    def _follow(self, leader: Peer) -> None:
        """Recognize the leader of the own term."""
        if self.role == LEADER:
            raise ReplicaStoppedError(
                f"two leaders in term {self.term}: {self.me} and {leader}",
                "report this with the logs of both nodes: it must never happen",
            )
        if self.role == CANDIDATE or self.leader != leader:
            self._step_down(self.term, leader)
        self._leader_heard_at = self.clock()
        self._draw_election_deadline()

    # Elections (sections 5.2 and 5.4.1; PreVote and stickiness: thesis, 9.6 and 4.2.3).

    def _may_campaign(self) -> bool:
        configuration = self.log.configuration
        return configuration is not None and self.me in configuration.voters

    def _campaign(self, *, pre: bool, transfer: bool = False) -> None:
        if not pre:
            self.set_hard_state(self.term + 1, self.me)
            self._verified = 0
        self.set_role(CANDIDATE)
        self.leader = None
        self._draw_election_deadline()
        term = self.term + 1 if pre else self.term
        needs = 0 if pre else self.log.state_sequence
        self._ballot = Ballot(term, pre, transfer, {self.me}, needs)
        last = self.log.last
        request = RequestVote(last.index, last.term, pre, transfer)
        for peer in self._configuration().voters:
            if peer != self.me:
                self._send(peer, request, needs, term=term)
        self._count_votes()

    def _on_request_vote(self, source: Peer, term: int, request: RequestVote) -> None:
        if request.pre:
            granted = term > self.term and self._is_up_to_date(request)
            granted = granted and not self._hears_a_leader()
            self._send(source, VoteReply(granted, True, term), term=term if granted else self.term)
            return
        granted = self._may_vote_for(source) and self._is_up_to_date(request)
        if granted and self.voted_for is None:
            self.set_hard_state(self.term, source)
        if granted:
            self._draw_election_deadline()
        self._send(source, VoteReply(granted, False, term), self._vote_needs())

    def _may_vote_for(self, candidate: Peer) -> bool:
        return self.role == FOLLOWER and self.voted_for in (None, candidate)

    def _vote_needs(self) -> int:
        return self.log.state_sequence

    def _is_up_to_date(self, request: RequestVote) -> bool:
        last = self.log.last
        return (request.last_term, request.last_index) >= (last.term, last.index)

    def _hears_a_leader(self) -> bool:
        """Whether there is a leader that was heard of within the shortest election timeout."""
        if self.role == LEADER:
            return True
        recent = self.clock() - self._leader_heard_at < self.timing.election_min_s
        return self.leader is not None and recent

    def _on_vote_reply(self, source: Peer, reply: VoteReply) -> None:
        ballot = self._ballot
        if ballot is None or (reply.for_term, reply.pre) != (ballot.term, ballot.pre):
            return
        if reply.granted:
            ballot.granted.add(source)
            self._count_votes()

    def _count_votes(self) -> None:
        ballot = self._ballot
        if ballot is None or not self._is_elected(ballot):
            return
        if ballot.pre:
            self._campaign(pre=False)
        else:
            self.become_leader()

    def _is_elected(self, ballot: Ballot) -> bool:
        configuration = self._configuration()
        counted = [peer for peer in configuration.voters if peer in ballot.granted]
        if self.me in counted and ballot.own_sequence > self.log.synced_sequence:
            counted.remove(self.me)
        return len(counted) >= configuration.majority

    @replaces("__onBecomeLeader")
    def become_leader(self) -> None:
        """Lead: nothing is known of the followers; an entry of the own term goes first."""
        self.set_role(LEADER)
        self.leader = self.me
        self._ballot = None
        for token, _ in self._forwarded_reads.values():
            self._read_outcomes.append(ReadOutcome(token, None))
        self._forwarded_reads.clear()
        self._reads = ReadRounds()
        self._followers = {}
        self._configuration_changed()
        self.noop_index = self._append_own(EntryKind.NOOP, b"").index
        self._send_heartbeats()

    def _on_timeout_now(self, source: Peer) -> None:
        if source == self.leader and self._may_campaign():
            self._campaign(pre=False, transfer=True)

    def _try_handover(self) -> None:
        """Let the target campaign once it holds the whole log."""
        if self._handover is None:
            return
        follower = self._followers.get(self._handover.target)
        if follower is not None and follower.match == self.log.last.index:
            self._send(follower.peer, TimeoutNow())

    # Replication, the leader's side (section 5.3).

    def _append_own(self, kind: EntryKind, payload: bytes) -> Proposed:
        entry = Entry(self.log.last.index + 1, self.term, kind, payload)
        self.log.append([entry])
        if kind is EntryKind.CONFIG:
            self._configuration_changed()
        return Proposed(entry.index, entry.term)

    @replaces("__sendAppendEntries")
    def send_appends(self) -> None:
        """Send each follower what it can take, and every follower the news of a commit."""
        for follower in self._followers.values():
            sent = self._send_to(follower)
            if not sent and self._commit_for(follower) > follower.told_commit:
                self._send_heartbeat(follower)

    def _send_to(self, follower: Progress) -> bool:
        if follower.mode is Mode.SNAPSHOT:
            return False
        if self.log.term_of(follower.next - 1) is None:
            follower.await_snapshot(self.log.first_index)
            self._snapshots_needed.append(follower.peer)
            return False
        if follower.mode is Mode.PROBE:
            if follower.asked:
                return False
            follower.asked = True
            self._send_append(follower, ())
            return True
        sent = False
        while follower.next <= self.log.last.index and self._has_room(follower):
            entries = self.log.slice(follower.next, self.log.last.index, self.limits.append_bytes)
            self._send_append(follower, tuple(entries))
            sent = True
        return sent

    def _has_room(self, follower: Progress) -> bool:
        return not follower.inflight or follower.inflight_bytes < self.limits.inflight_bytes

    def _send_append(self, follower: Progress, entries: tuple[Entry, ...]) -> None:
        prev = follower.next - 1
        prev_term = self.log.term_of(prev)
        if prev_term is None:
            raise ReplicaStoppedError(
                f"the log has no term at index {prev}", "report this: it must never happen"
            )
        if entries:
            size = sum(map(weight, entries))
            follower.sent(entries[-1].index, size, self.clock())
            self.entry_bytes_sent += size
        follower.told_commit = self.commit
        self._send(follower.peer, Append(prev, prev_term, entries, self.commit))

    def _on_append_reply(self, source: Peer, reply: AppendReply) -> None:
        follower = self._followers.get(source)
        if self.role != LEADER or follower is None:
            return
        if reply.match > self.log.last.index:
            self.refused[source, "it acknowledges entries that do not exist"] += 1
            return
        if reply.success:
            self._acknowledged(follower, reply.match)
            if follower.mode is not Mode.REPLICATE and self._holds_enough(follower):
                follower.replicate()
        elif self._is_rejected(follower, reply):
            follower.probe(self._step_back(reply))

    def _holds_enough(self, follower: Progress) -> bool:
        """Whether what follows the follower's log is still in ours."""
        return self.log.term_of(follower.match) is not None

    def _is_rejected(self, follower: Progress, reply: AppendReply) -> bool:
        """Whether a rejection speaks of what was asked last, not of what was settled since."""
        if follower.mode is Mode.PROBE:
            return follower.match < reply.prev_index == follower.next - 1
        return follower.mode is Mode.REPLICATE and reply.prev_index >= follower.match

    def _step_back(self, reply: AppendReply) -> int:
        """Where to ask next: at the first index of the conflicting term, never ahead of that."""
        return min(reply.hint_index, reply.prev_index, self.log.last.index + 1)

    def _acknowledged(self, follower: Progress, match: int) -> None:
        if follower.acknowledged(match, self.clock()):
            if follower.awaited_snapshot_came and not self._holds_enough(follower):
                # The log was cut beyond the snapshot while it travelled: another one is needed.
                follower.probe(follower.match + 1)
            self._advance_commit()
            self._try_handover()

    # Commitment (sections 5.3 and 5.4.2).

    def _advance_commit(self) -> None:
        index = self._agreed_index()
        if index > self.commit and self.log.term_of(index) == self.term:
            self._commit_to(index)
            self._try_read_round()

    def _agreed_index(self) -> int:
        """The highest index that a majority of voters holds durably."""
        configuration = self._configuration()
        held = sorted((self._held_by(peer) for peer in configuration.voters), reverse=True)
        return held[configuration.majority - 1]

    def _held_by(self, voter: Peer) -> int:
        if voter == self.me:
            return self.log.synced_index
        follower = self._followers.get(voter)
        return follower.match if follower else 0

    def _commit_to(self, index: int) -> None:
        if index > self.commit:
            self.commit = index

    def _commit_for(self, follower: Progress) -> int:
        return min(self.commit, follower.match)

    def _may_apply_to(self) -> int:
        return min(self.commit, self.log.synced_index)

    def _mark_applied(self, index: int) -> None:
        if index > self.applied:
            self.applied = index
            self.log.forget_configurations(index)

    # Replication, the follower's side (section 5.3).

    def _on_append(self, leader: Peer, append: Append) -> None:
        append = self._behind_sentinel(append)
        held = self.log.term_of(append.prev_index)
        if held != append.prev_term:
            self._reject(leader, append, held)
            return
        self._take_entries(append)
        end = append.prev_index + len(append.entries)
        self._verified = max(self._verified, end)
        self._commit_to(self._commit_bound(append))
        reply = AppendReply(True, append.prev_index, end)
        self._send(leader, reply, self._acknowledgement_needs(end))

    def _behind_sentinel(self, append: Append) -> Append:
        """Leave out entries that were cut here: they were committed, so they agree."""
        sentinel = self.log.sentinel
        cut = sentinel.index - append.prev_index
        if cut <= 0:
            return append
        if cut >= len(append.entries):
            return Append(sentinel.index, sentinel.term, (), append.commit)
        return Append(sentinel.index, sentinel.term, append.entries[cut:], append.commit)

    def _take_entries(self, append: Append) -> None:
        """Append what is new; truncate only where an entry conflicts."""
        for position, entry in enumerate(append.entries):
            held = self.log.term_of(entry.index)
            if held == entry.term:
                continue
            if held is not None:
                self._truncate_from(entry.index)
            self.log.append(append.entries[position:])
            self._configuration_changed()
            return

    def _truncate_from(self, index: int) -> None:
        if index <= max(self.commit, self.applied):
            raise ReplicaStoppedError(
                f"the leader conflicts with entry {index}, and {self.commit} is committed here",
                "report this with the logs of both nodes: it must never happen",
            )
        self.log.truncate_from(index)

    def _reject(self, leader: Peer, append: Append, held: int | None) -> None:
        if held is None:
            hint, term = self.log.last.index + 1, 0
        else:
            hint, term = append.prev_index, held
            while hint - 1 > self.commit and self.log.term_of(hint - 1) == held:
                hint -= 1
        reply = AppendReply(False, append.prev_index, 0, hint, term)
        self._send(leader, reply)

    def _commit_bound(self, append: Append) -> int:
        """Only what this message has verified may be committed by it."""
        return min(append.commit, append.prev_index + len(append.entries))

    def _acknowledgement_needs(self, index: int) -> int:
        return self.log.sequence_of(index)

    # Heartbeats and reads (section 8; thesis, 6.4).

    def _send_heartbeats(self) -> None:
        now = self.clock()
        self.heartbeat_deadline = now + self.timing.heartbeat_s
        for follower in self._followers.values():
            if follower.inflight and now - follower.moved_at > 3 * self.timing.election_max_s:
                follower.probe(follower.match + 1)
            self._send_heartbeat(follower)

    def _send_heartbeat(self, follower: Progress) -> None:
        commit = self._commit_for(follower)
        follower.told_commit = max(follower.told_commit, commit)
        self._send(follower.peer, Heartbeat(commit, self._reads.number))

    def _on_heartbeat(self, leader: Peer, heartbeat: Heartbeat) -> None:
        if heartbeat.commit <= self.log.last.index:
            self._commit_to(heartbeat.commit)
        # Every leader holds what was committed: it agrees without having been verified.
        match = min(max(self._verified, self.commit), self.log.synced_index)
        self._send(leader, HeartbeatReply(heartbeat.round, match))

    def _on_heartbeat_reply(self, source: Peer, reply: HeartbeatReply) -> None:
        follower = self._followers.get(source)
        if self.role != LEADER or follower is None or reply.match > self.log.last.index:
            return
        self._acknowledged(follower, reply.match)
        if follower.mode is Mode.PROBE:
            follower.asked = False
        elif follower.mode is Mode.SNAPSHOT and self._holds_enough(follower):
            follower.replicate()
        follower.round = max(follower.round, reply.round)
        self._confirm_reads()

    def _on_read_request(self, source: Peer, request: ReadRequest) -> None:
        if self.role == LEADER:
            self._reads.ask(Asker(source, request.token))
            self._try_read_round()
        else:
            self._send(source, ReadReply(request.token, 0))

    def _on_read_reply(self, reply: ReadReply) -> None:
        asked = self._forwarded_reads.pop(reply.token, None)
        if asked is not None:
            self._read_outcomes.append(ReadOutcome(asked[0], reply.index or None))

    def _try_read_round(self) -> None:
        """Begin a round, if reads wait, none runs, and the commit index is of this term."""
        if self._reads.running is None and self._reads.waiting and self._knows_commit():
            self._reads.begin(self.commit)
            self._send_heartbeats()
            self._confirm_reads()

    def _knows_commit(self) -> bool:
        return self.noop_index is not None and self.commit >= self.noop_index

    def _confirm_reads(self) -> None:
        while self._reads.running is not None and self._is_confirmed(self._reads.running.number):
            ended = self._reads.end()
            for asker in ended.askers:
                self._answer_read(asker, ended.index)
            if self._reads.waiting:
                self._try_read_round()

    def _is_confirmed(self, number: int) -> bool:
        configuration = self._configuration()
        confirmed = sum(
            1
            for peer in configuration.voters
            if peer == self.me
            or ((follower := self._followers.get(peer)) is not None and follower.round >= number)
        )
        return confirmed >= configuration.majority

    def _answer_read(self, asker: Asker, index: int | None) -> None:
        if asker.peer is None:
            self._read_outcomes.append(ReadOutcome(asker.token, index))
        else:
            self._send(asker.peer, ReadReply(asker.token, index or 0))

    # Membership (section 6; one change at a time: thesis, 4.1).

    def _change_refusal(self, configuration: Configuration) -> str | None:
        current = self._configuration()
        if not self._knows_commit():
            return "no entry of this term is committed yet; try again"
        if self.log.configuration_index > self.commit:
            return "the previous change is not committed yet; try again"
        if not current.changes_one_voter(configuration):
            return "more than one voter changes; change them one by one"
        if self.me not in configuration.voters:
            return "the leader is among those that go; transfer leadership first"
        for peer in configuration.voters:
            if peer not in current.voters and not self._has_caught_up(peer):
                return f"{peer.node} has not caught up; add it as a learner and wait"
        return None

    def _has_caught_up(self, peer: Peer) -> bool:
        follower = self._followers.get(peer)
        if follower is None or follower.mode is not Mode.REPLICATE:
            return False
        return self.log.last.index - follower.match <= self.limits.promotion_lag_entries

    def _configuration_changed(self) -> None:
        """Follow the log's configuration: it holds as soon as it is appended."""
        configuration = self.log.configuration
        if configuration is None:
            return
        self.set_members(configuration.peers)
        if self.role != LEADER:
            return
        now = self.clock()
        self._followers = {
            peer: self._followers.get(peer) or Progress(peer, self.log.last.index + 1, now)
            for peer in configuration.peers
            if peer != self.me
        }
        self._confirm_reads()

    def _configuration(self) -> Configuration:
        configuration = self.log.configuration
        if configuration is None:
            raise ReplicaStoppedError("there is no configuration", "form the shard first")
        return configuration

    def _snapshot_is_ahead(self, position: Position) -> bool:
        return position.index > self.commit

    # Sending.

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


def _stands_ahead(body: Body) -> bool:
    """Whether the term of a pre-vote message is the one that a candidate would stand in."""
    return isinstance(body, RequestVote) or (isinstance(body, VoteReply) and body.granted)
