"""Bugs in consensus and in the log: one at the least for each gap that breaks an invariant."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final
from zlib import crc32

from quorate.apply.entries import LoggedCommand
from quorate.consensus.inherited import Outbox
from quorate.consensus.journal import HardState, Position
from quorate.consensus.log import RaftLog
from quorate.consensus.membership import Configuration
from quorate.consensus.messages import (
    Append,
    AppendReply,
    Entry,
    Heartbeat,
    HeartbeatReply,
    Message,
    Peer,
    RequestVote,
    VoteReply,
)
from quorate.consensus.progress import Progress
from quorate.consensus.reads import Asker, ReadRounds, Round
from quorate.consensus.replica import Replica
from quorate.shards.shard.proposer import Proposer
from quorate.shards.shard.writes import Fate, Flights
from quorate.storage.data.record import AppliedRecord
from quorate.storage.log.shard_journal import ShardJournal
from quorate.storage.log.sync_loop import SyncLoop

from tests.support.sim import disk
from tests.support.sim.bugs.catalogue import CONFLICTS, CRASHES, POWER, READS, SNAPSHOTS, bug
from tests.support.sim.profile import NONE

#: A process often ends between a truncation and its sync.
#: What a leader has logged takes some seconds to be agreed upon, with disks as slow as these.
_TRUNCATIONS: Final = replace(
    CONFLICTS, sync_s=(0.01, 0.1), recovery_s=20.0, faults=replace(CONFLICTS.faults, crash=12)
)
#: Five nodes, so that a single wrong vote is not a majority by itself.
_FIVE: Final = replace(CRASHES, nodes=5, faults=replace(CRASHES.faults, duplicate=0.3, reorder=0.3))
#: Five nodes in parts, so that a minority has entries of its own, and words that come very late.
_PARTS: Final = replace(
    CRASHES,
    nodes=5,
    proposals=100.0,
    reads=0.0,
    faults=replace(
        CRASHES.faults,
        every_s=0.1,
        partition=14,
        isolate_leader=6,
        strand_leader=4,
        stream_break=6,
        slow_way=20,
        slow_way_s=(0.2, 0.6, 1.5),
        cluster_power_loss=0,
    ),
)
#: Leaders that fall asleep while their words are still on slow ways.
_LATE: Final = replace(
    CRASHES,
    proposals=120.0,
    faults=replace(
        CRASHES.faults,
        crash=1,
        power_loss=1,
        cluster_power_loss=0,
        pause=12,
        transfer=10,
        slow_way=20,
        slow_way_s=(0.6, 1.5),
    ),
)
#: Leaders come back for long before late words of their first time do, and are alone then: the
#: rounds of reads that those words confirm have the numbers of rounds to come.
_AGAIN: Final = replace(
    READS,
    seconds=8.0,
    proposals=80.0,
    reads=60.0,
    delay_s=(0.0005, 0.004),
    faults=replace(
        NONE,
        every_s=2.5,
        drop=0,
        duplicate=0,
        reorder=0,
        cut_snapshot=0,
        failpoint=0,
        return_leader=1,
    ),
)
_MEMBERS: Final = replace(
    CRASHES,
    spares=1,
    faults=replace(CRASHES.faults, every_s=0.1, membership=25, isolate_leader=8, transfer=5),
)
#: Older copies of disks, and nothing else.
_OLDER: Final = replace(CRASHES, faults=replace(NONE, every_s=0.5, older_copy=1))
_EMPTIED: Final = replace(
    CRASHES, faults=replace(CRASHES.faults, every_s=0.2, empty_disk=12, isolate_leader=6)
)


_end_sync = SyncLoop._end
_take_committed = Replica.take_committed
_truncate = RaftLog.truncate_from
_reset = RaftLog.reset
_step_down = Replica._step_down
_answer_stale = Replica._answer_stale
_acknowledged = Progress.acknowledged
_send_append = Replica._send_append
_propose = Proposer.propose


# Gap 1: nothing is told before it is durable.


@bug(SyncLoop, "_end", "1", POWER)
def sync_number_after_the_call(self: SyncLoop, sequence: int, error: Exception | None) -> None:
    """The number is read before the sync begins."""
    _end_sync(self, self._log.written, error)


@bug(RaftLog, "state_sequence", "1", POWER, attribute=True)
def term_and_vote_told_before_sync(self: RaftLog) -> int:
    """Term and vote are durable first."""
    return 0


@bug(Replica, "_acknowledgement_needs", "1", POWER)
def entries_acknowledged_before_sync(self: Replica, index: int) -> int:
    """An acknowledged entry is durable."""
    return 0


@bug(Outbox, "release", "1", POWER)
def outbox_released_at_once(self: Outbox, synced: int) -> list[Message]:
    """Messages wait for what they depend on."""
    free = [message for _, message in self._held]
    self._held.clear()
    return free


@bug(Replica, "_held_by", "1", POWER)
def own_entry_counted_before_sync(self: Replica, voter: Peer) -> int:
    """The leader counts itself up to its synced index."""
    if voter == self.me:
        return self.log.last.index
    follower = self._followers.get(voter)
    return follower.match if follower else 0


@bug(Replica, "_may_apply_to", "1", POWER)
def applied_beyond_synced(self: Replica) -> int:
    """A replica applies up to its own synced index."""
    return min(self.commit, self.log.last.index)


# Gap 2: truncate on conflict, and only then.


@bug(Replica, "_take_entries", "2", CONFLICTS)
def truncated_without_conflict(self: Replica, append: Append) -> None:
    """Agreeing entries are kept."""
    if self.log.last.index > append.prev_index:
        self._truncate_from(append.prev_index + 1)
    if append.entries:
        self.log.append(append.entries)
    self._configuration_changed()


@bug(Replica, "_take_entries", "2", CONFLICTS)
def conflict_kept(self: Replica, append: Append) -> None:
    """Conflicting entries are dropped."""
    new = [entry for entry in append.entries if entry.index > self.log.last.index]
    if new:
        self.log.append(new)
        self._configuration_changed()


# Gap 4: what an older term says is answered, and nothing else.


@bug(Replica, "_answer_stale", "4", _AGAIN)
def old_acknowledgement_counted(self: Replica, message: Message) -> None:
    """Acknowledgements of another term count nothing."""
    if isinstance(message.body, AppendReply):
        self._on_append_reply(message.source, message.body)
    elif isinstance(message.body, HeartbeatReply):
        self._on_heartbeat_reply(message.source, message.body)
    else:
        _answer_stale(self, message)


@bug(Replica, "_answer_stale", "4", _LATE)
def old_leader_followed(self: Replica, message: Message) -> None:
    """An append of an older term is refused."""
    if isinstance(message.body, Append):
        self._on_append(message.source, message.body)
    else:
        _answer_stale(self, message)


# Gap 5: votes.


@bug(Replica, "_on_vote_reply", "5", _FIVE)
def repeated_vote_counted(self: Replica, source: Peer, reply: VoteReply) -> None:
    """Each voter counts once."""
    ballot = self._ballot
    if ballot is None or (reply.for_term, reply.pre) != (ballot.term, ballot.pre):
        return
    if reply.granted:
        voters = self._configuration().voters
        fresh = [peer for peer in voters if peer not in ballot.granted]
        ballot.granted.add(fresh[0] if source in ballot.granted and fresh else source)
        self._count_votes()


@bug(Replica, "_on_vote_reply", "5", CRASHES)
def any_granting_counted(self: Replica, source: Peer, reply: VoteReply) -> None:
    """A pre-vote is no vote."""
    if self._ballot is not None and reply.granted:
        self._ballot.granted.add(source)
        self._count_votes()


@bug(Replica, "_may_vote_for", "5", CRASHES)
def voted_twice_in_a_term(self: Replica, candidate: Peer) -> bool:
    """One vote a term."""
    return self.role == 0


@bug(RaftLog, "setCurrentTerm", "5", CRASHES)
def vote_not_written(self: RaftLog, term: int, voted_for: Peer | None) -> None:
    """The vote outlives the process."""
    self.journal.save_hard_state(HardState(term, None))
    self._state_sequence = self.journal.written


@bug(RaftLog, "setCurrentTerm", "5", CRASHES)
def term_not_written(self: RaftLog, term: int, voted_for: Peer | None) -> None:
    """The term outlives the process."""
    return


@bug(Replica, "_is_up_to_date", "5.4.1", CONFLICTS)
def voted_for_shorter_log(self: Replica, request: RequestVote) -> bool:
    """A vote only for a log that is as good."""
    return True


# Gap 6: commitment.


@bug(Replica, "_advance_commit", "5.4.2", CONFLICTS)
def old_term_committed_by_counting(self: Replica) -> None:
    """Only entries of the own term are counted."""
    index = self._agreed_index()
    if index > self.commit:
        self._commit_to(index)
        self._try_read_round()


@bug(Replica, "_commit_bound", "6", CONFLICTS)
def committed_beyond_the_append(self: Replica, append: Append) -> int:
    """An append commits what it verified."""
    return min(append.commit, self.log.last.index)


@bug(Replica, "_commit_for", "6", CONFLICTS)
def heartbeat_commits_beyond_match(self: Replica, follower: Progress) -> int:
    """A heartbeat commits what the follower is known to hold."""
    return self.commit


@bug(Replica, "_commit_to", "6", _FIVE)
def commit_goes_back(self: Replica, index: int) -> None:
    """The commit index never goes back."""
    self.commit = index


@bug(Replica, "_on_heartbeat", "6", CONFLICTS)
def heartbeat_acknowledges_unverified(self: Replica, leader: Peer, heartbeat: Heartbeat) -> None:
    """Only what this leader verified is acknowledged."""
    self._verified = self.log.synced_index
    _on_heartbeat(self, leader, heartbeat)


_on_heartbeat = Replica._on_heartbeat


@bug(Replica, "_step_down", "6", _PARTS)
def verified_kept_over_terms(self: Replica, term: int, leader: Peer | None) -> None:
    """What an older leader verified says nothing."""
    verified = self._verified
    _step_down(self, term, leader)
    self._verified = min(verified, self.log.last.index)


# Gaps 9 and 10: applied once, and answered by what happened.


@bug(Replica, "take_committed", "9", CRASHES)
def log_replayed_at_restart(self: Any, max_bytes: int) -> list[Entry]:
    """A restart goes on behind the applied index."""
    if not hasattr(self, "has_replayed"):
        self.has_replayed = True
        self._delivered = self.log.sentinel.index
    return _take_committed(self, max_bytes)


@bug(Replica, "take_committed", "10", CRASHES)
def entry_applied_again(self: Replica, max_bytes: int) -> list[Entry]:
    """An entry is applied once."""
    entries = _take_committed(self, max_bytes)
    if len(entries) > 1:
        self._delivered -= 1
    return entries


@bug(Flights, "applied", "10", CONFLICTS)
def answered_by_index_alone(self: Flights, index: int, term: int) -> None:
    """Another term's entry is another proposal."""
    self._settle_all(lambda each: each.index == index, Fate.APPLIED)


# Gap 11: the configuration is the log's.


@bug(Replica, "_configuration", "11", _MEMBERS)
def committed_configuration_decides(self: Replica) -> Configuration | None:
    """A configuration holds as soon as it is written."""
    return self.log.configuration_at(self.commit)[1] or self.log.configuration


@bug(Replica, "_change_refusal", "11", _MEMBERS)
def changes_not_awaited(self: Replica, configuration: Configuration) -> str | None:
    """One change at a time."""
    return "the leader stays" if self.me not in configuration.voters else None


@bug(RaftLog, "truncate_from", "11", _MEMBERS)
def configuration_outlives_truncation(self: RaftLog, index: int) -> None:
    """Truncation takes configurations along."""
    configurations = list(self._configurations)
    _truncate(self, index)
    self._configurations = configurations


@bug(RaftLog, "_find_configurations", "11", _MEMBERS)
def configurations_not_read_at_restart(self: RaftLog, behind: int) -> None:
    """A restart reads the log's configurations."""
    return


@bug(AppliedRecord, "encode", "11", _MEMBERS)
def configuration_not_stored(self: AppliedRecord) -> bytes:
    """The configuration is stored with the applied index."""
    return _encode_record(replace(self, configuration=b""))


_encode_record = AppliedRecord.encode


# Gap 12: an emptied disk.


@bug(disk, "draw_replica_id", "12", _EMPTIED)
def emptied_node_votes(node: str, rng: Any) -> int:
    """A new directory is a new replica."""
    return crc32(node.encode())


@bug(Replica, "_on_heartbeat", "12", _OLDER)
def older_copy_is_believed(self: Replica, leader: Peer, heartbeat: Heartbeat) -> None:
    """A replica stops that has less than its leader knows it to have acknowledged."""
    self._commit_to(min(heartbeat.commit, self.log.last.index))
    self._answer_heartbeat(leader, heartbeat.round)


# Gap 17: reads, learners, snapshots.


@bug(Replica, "_knows_commit", "17", READS)
def read_before_own_commit(self: Replica) -> bool:
    """Reads wait for an entry of the own term."""
    return True


@bug(Replica, "_is_confirmed", "17", READS)
def read_without_a_round(self: Replica, number: int) -> bool:
    """Reads wait for a round."""
    return True


@bug(Replica, "_is_confirmed", "17", READS)
def read_confirmed_by_an_old_round(self: Replica, number: int) -> bool:
    """Reads wait for their own round."""
    configuration = self._configuration()
    confirmed = [peer for peer, each in self._followers.items() if each.round > 0]
    return len({self.me, *confirmed} & set(configuration.voters)) >= configuration.majority


@bug(ReadRounds, "begin", "17", READS)
def read_round_never_renumbered(self: ReadRounds, commit: int) -> Round:
    """A read waits for a round that begins after it."""
    self.number = max(1, self.number)
    self.running = Round(self.number, commit, tuple(self._waiting))
    self._waiting.clear()
    return self.running


@bug(ReadRounds, "ask", "17", READS)
def read_joins_the_running_round(self: ReadRounds, asker: Asker) -> None:
    """Reads that come during a round wait for the next."""
    if self.running is None:
        self._waiting.append(asker)
    else:
        self.running = replace(self.running, askers=(*self.running.askers, asker))


@bug(Replica, "_agreed_index", "17", _MEMBERS)
def learner_counted(self: Replica) -> int:
    """Learners count in no majority."""
    configuration = self._configuration()
    held = sorted((self._held_by(peer) for peer in configuration.peers), reverse=True)
    return held[configuration.majority - 1]


@bug(RaftLog, "reset", "17", SNAPSHOTS)
def conflict_kept_behind_snapshot(
    self: RaftLog, position: Position, configuration: Configuration
) -> None:
    """A log in conflict with a snapshot is dropped."""
    behind = position.index < self.last.index and self.sentinel.index <= position.index
    kept = self.slice(position.index + 1, self.last.index, 1 << 30) if behind else []
    _reset(self, position, configuration)
    if kept:
        self.append(kept)


# The log's storage.


@bug(ShardJournal, "_lower_to", "6 of storage", _TRUNCATIONS)
def witness_not_lowered(self: ShardJournal, index: int) -> None:
    """The witness is lowered before a truncation."""
    return


# Gap 3: a leader goes forward on acknowledgements.


@bug(Progress, "acknowledged", "3", _FIVE)
def next_follows_every_acknowledgement(self: Progress, match: int, now: float) -> bool:
    """Next goes back only to match + 1."""
    news = _acknowledged(self, match, now)
    self.next = match + 1
    return news


# Gap 13: a rejection says where to go on, and is held against what is possible.


@bug(Replica, "_step_back", "13", CONFLICTS)
def rejection_changes_nothing(self: Replica, reply: AppendReply) -> int:
    """After a conflict the leader goes back to where the logs may agree."""
    return reply.prev_index + 1


# Gap 14: an entry of any size arrives, or is refused when it is proposed.


@bug(Replica, "_send_append", "14", CONFLICTS)
def some_sizes_never_arrive(self: Replica, follower: Progress, append: Append) -> None:
    """No entry is cut into pieces."""
    if not any(len(entry.payload) >= 250 for entry in append.entries):
        _send_append(self, follower, append)


# Gap 16: a proposal goes to the leader of one term.


@bug(Proposer, "propose", "16", replace(_LATE, fenced=20.0))
def fence_ignored(
    self: Proposer,
    commands: Sequence[LoggedCommand],
    *,
    term: int | None = None,
    timeout_s: float | None = None,
) -> Any:
    """A proposal for one term is taken in that term alone."""
    return _propose(self, commands, timeout_s=timeout_s)
