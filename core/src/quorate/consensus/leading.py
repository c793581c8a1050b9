"""The leader's side: replication, commitment, heartbeats, reads, membership, transfer."""

from typing import Final

from quorate.consensus.hibernation import Hibernation
from quorate.consensus.inherited import LEADER, replaces
from quorate.consensus.membership import Configuration
from quorate.consensus.messages import (
    CONFIG,
    Append,
    AppendReply,
    Entry,
    EntryKind,
    Heartbeat,
    HeartbeatReply,
    Hibernate,
    Hibernating,
    Peer,
    ReadReply,
    ReadRequest,
    TimeoutNow,
    weight,
)
from quorate.consensus.progress import PROBE, REPLICATE, SNAPSHOT, Progress
from quorate.consensus.reads import Asker, ReadOutcome
from quorate.consensus.refusals import ReplicaStoppedError
from quorate.consensus.status import Proposed

#: The part of a heartbeat's interval after which an answer to a read round is late.
_LATE: Final = 4


class Leading(Hibernation):
    """The leader's part of Raft."""

    #: When this leader last woke: it could not hear of a majority before.
    _woke_at = float("-inf")
    #: When this leader last appended an entry of its own, and how long after the one before.
    _appended_at = float("-inf")
    _gap = float("inf")

    # Replication (section 5.3).

    def _append_own(self, kind: EntryKind, payload: bytes) -> Proposed:
        self._be_active()
        now = self.clock()
        self._gap, self._appended_at = now - self._appended_at, now
        entry = Entry(self.log.last.index + 1, self.term, kind, payload)
        self.log.append([entry])
        if kind is CONFIG:
            self._configuration_changed()
        return Proposed(entry.index, entry.term)

    @replaces("__sendAppendEntries")
    def send_appends(self) -> None:
        """Send each follower the entries that it can take, and every follower the commit index."""
        untold: list[Progress] = []
        #: By the first entry: followers that stand at the same place are sent the same.
        made: dict[int, tuple[Append, int]] = {}
        commit, last_index = self.commit, self.log.last.index
        for follower in self._followers.values():
            if follower.mode is REPLICATE and follower.next > last_index:
                sent = False
            else:
                sent = self._send_to(follower, made)
            if not sent and follower.sent_commit < commit and follower.sent_commit < follower.match:
                untold.append(follower)
        self._tell_commit(untold)

    def _tell_commit(self, untold: list[Progress]) -> None:
        """Schedule a heartbeat for the commit index, unless entries carry it first.

        Where entries flow, the next one is awaited for as long as the last one was.
        """
        if not untold:
            self._news_due = float("inf")
            return
        now = self.clock()
        flowing = self._gap if self._gap <= self.timing.flow_s else 0.0
        self._news_due = min(self._news_due, now + self.timing.news_s + flowing)
        if now >= self._news_due:
            self._news_due = float("inf")
            for follower in untold:
                self._send_heartbeat(follower)

    def _send_to(self, follower: Progress, made: dict[int, tuple[Append, int]]) -> bool:
        if follower.mode is SNAPSHOT:
            return False
        if self.log.term_of(follower.next - 1) is None:
            follower.await_snapshot(self.log.first_index)
            self._snapshots_needed.append(follower.peer)
            return False
        if follower.mode is PROBE:
            if follower.asked:
                return False
            follower.asked = True
            self._send_append(follower, self._append_after(follower.next - 1, ()))
            return True
        sent, last_index = False, self.log.last.index
        while (first := follower.next) <= last_index and self._has_room(follower):
            if (found := made.get(first)) is None:
                entries = self.log.slice(first, last_index, self.limits.append_bytes)
                append = self._append_after(first - 1, tuple(entries))
                found = made[first] = append, sum(map(weight, entries))
            append, size = found
            follower.sent(first - 1 + len(append.entries), size, self.clock())
            self.entry_bytes_sent += size
            self._send_append(follower, append)
            sent = True
        return sent

    def _has_all(self, follower: Progress) -> bool:
        """Whether a follower was sent all entries, and was or will be sent the commit index."""
        return (
            follower.mode is REPLICATE
            and follower.next > self.log.last.index
            and (
                follower.sent_commit >= min(self.commit, follower.match)
                or self._news_due < float("inf")
            )
        )

    def _has_room(self, follower: Progress) -> bool:
        return not follower.inflight or follower.inflight_bytes < self.limits.inflight_bytes

    def _append_after(self, prev: int, entries: tuple[Entry, ...]) -> Append:
        prev_term = self.log.term_of(prev)
        if prev_term is None:
            raise ReplicaStoppedError(
                f"the log has no term at index {prev}", "report this: it must never happen"
            )
        return Append(prev, prev_term, entries, self.commit)

    def _send_append(self, follower: Progress, append: Append) -> None:
        follower.sent_commit = append.commit
        self._send(follower.peer, append)

    def _on_append_reply(self, source: Peer, reply: AppendReply) -> None:
        follower = self._followers.get(source)
        if self.role != LEADER or follower is None:
            return
        if reply.match > self.log.last.index:
            self.refused[source, "it acknowledges entries that do not exist"] += 1
            return
        if reply.success:
            self._acknowledged(follower, reply.match)
            if follower.mode is not REPLICATE and self._holds_enough(follower):
                follower.replicate()
            return
        if reply.prev_index == follower.match:
            # It came late, or its sender has lost its memory, of which the next heartbeat tells it.
            follower.doubted = True
        if self._is_rejected(follower, reply):
            follower.probe(self._step_back(reply))

    def _holds_enough(self, follower: Progress) -> bool:
        """Whether what follows the follower's log is still in ours."""
        return self.log.term_of(follower.match) is not None

    def _is_rejected(self, follower: Progress, reply: AppendReply) -> bool:
        """Whether a rejection answers the last probe and not an earlier one."""
        if follower.mode is PROBE:
            return follower.match < reply.prev_index == follower.next - 1
        return follower.mode is REPLICATE and reply.prev_index >= follower.match

    def _step_back(self, reply: AppendReply) -> int:
        """Where to probe next: at the first index of the conflicting term, never after it."""
        return min(reply.hint_index, reply.prev_index, self.log.last.index + 1)

    def _acknowledged(self, follower: Progress, match: int) -> None:
        if follower.acknowledged(match, self.clock()):
            if follower.awaited_snapshot_came and not self._holds_enough(follower):
                # The log was compacted past the snapshot during the transfer: send another one.
                follower.probe(follower.match + 1)
            if match > self.commit:
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
        held = sorted(map(self._held_by, configuration.voters))
        return held[-configuration.majority]

    def _held_by(self, voter: Peer) -> int:
        if voter == self.me:
            return self.log.synced_index
        follower = self._followers.get(voter)
        return follower.match if follower and not follower.doubted else 0

    def _commit_for(self, follower: Progress) -> int:
        return min(self.commit, follower.match)

    # Heartbeats, and whether a majority answers them (thesis, 6.2).

    def _send_heartbeats(self) -> None:
        now = self.clock()
        self.heartbeat_deadline = self.timing.next_heartbeat(now)
        self._round_due = float("inf")
        rest = self._offer(now)
        if rest is not None and not self._followers:
            # Nobody has to agree.
            self._fall_asleep([])
        for follower in self._followers.values():
            if rest is not None:
                self._send(follower.peer, rest)
                continue
            if follower.inflight and now - follower.moved_at > 3 * self.timing.election_max_s:
                follower.probe(follower.match + 1)
            self._send_heartbeat(follower)

    def _send_heartbeat(self, follower: Progress) -> None:
        commit = self._commit_for(follower)
        follower.sent_commit = max(follower.sent_commit, commit)
        agreed = self.commit if self._knows_commit() else 0
        self._send(follower.peer, Heartbeat(commit, self._reads.number, agreed))

    def _on_heartbeat_reply(self, source: Peer, reply: HeartbeatReply) -> None:
        follower = self._followers.get(source)
        if self.role != LEADER or follower is None or reply.match > self.log.last.index:
            return
        self._acknowledged(follower, reply.match)
        if follower.mode is PROBE:
            follower.asked = False
        elif follower.mode is SNAPSHOT and self._holds_enough(follower):
            follower.replicate()
        follower.round = max(follower.round, reply.round)
        self._confirm_reads()

    def _majority_seen_at(self) -> float:
        """When the last of a majority was in contact: no other leader was possible before."""
        configuration, now = self._configuration(), self.clock()
        heard = sorted(
            now if peer == self.me else self._heard(peer) for peer in configuration.voters
        )
        return heard[-configuration.majority]

    def _note_agreed(self) -> None:
        """Note until when a majority was heard, which nobody can tell once this leads no more."""
        if self._knows_commit():
            self._agreed = self._majority_seen_at(), self.commit

    def _heard(self, peer: Peer) -> float:
        follower = self._followers.get(peer)
        if follower is None:
            return float("-inf")
        if self.resting and follower.rests and self.liveness is not None:
            return max(follower.last_seen_at, self.liveness.heard_at(peer.node))
        return follower.last_seen_at

    # Rest.

    def _be_active(self) -> None:
        """Wake for what this leader is asked for; there is no need to say that it lives."""
        if self.resting:
            self._end_rest()
        self._active_at = self.clock()

    def _back_to_work(self, now: float) -> None:
        for follower in self._followers.values():
            if follower.rests and self.liveness is not None:
                heard_at = self.liveness.heard_at(follower.peer.node)
                follower.last_seen_at = max(follower.last_seen_at, heard_at)
            follower.rests = False
        self._woke_at = now
        self.heartbeat_deadline = self.timing.next_heartbeat(now)

    def _offer(self, now: float) -> Hibernate | None:
        """Return what to ask of the followers of an idle shard, or None."""
        if self.liveness is None or not self._is_idle(now):
            return None
        self._offered = True
        return Hibernate(self.commit, self.liveness.epoch)

    def _is_idle(self, now: float) -> bool:
        """Whether this replica and all live ones have nothing to do."""
        return (
            now - self._active_at >= self.timing.rest_s
            and self._handover is None
            and self._reads.running is None
            and not self._reads.waiting
            and self._knows_commit()
            and self.applied == self.commit == self.log.last.index
            and all(map(self._needs_nothing, self._followers.values()))
        )

    def _needs_nothing(self, follower: Progress) -> bool:
        return self._is_silent(follower) or (
            follower.mode is REPLICATE
            and follower.match == self.commit
            and follower.sent_commit >= self.commit
        )

    def _is_silent(self, follower: Progress) -> bool:
        return self.liveness is not None and not self.liveness.lives(follower.peer.node)

    def _on_rests(self, source: Peer, reply: Hibernating) -> None:
        follower = self._followers.get(source)
        if self.role != LEADER or follower is None or self.liveness is None or self.resting:
            return
        if (reply.index, reply.epoch) != (self.commit, self.liveness.epoch):
            return
        follower.rests = True
        if self._offered and self._is_idle(self.clock()) and self._all_rest():
            self._fall_asleep([each.peer.node for each in self._followers.values()])

    def _all_rest(self) -> bool:
        """Whether a majority of voters and all live replicas rest."""
        configuration, followers = self._configuration(), self._followers
        resting = sum(
            peer == self.me or (peer in followers and followers[peer].rests)
            for peer in configuration.voters
        )
        return resting >= configuration.majority and all(
            follower.rests or self._is_silent(follower) for follower in followers.values()
        )

    def _on_wake(self, source: Peer) -> None:
        follower = self._followers.get(source)
        if self.role == LEADER and follower is not None:
            follower.rests = False
            self._active_at = self.clock()

    # Reads (section 8; thesis, 6.4).

    def _on_read_request(self, source: Peer, request: ReadRequest) -> None:
        if self.role == LEADER:
            self._be_active()
            self._reads.ask(Asker(source, request.token))
            self._try_read_round()
        else:
            self._send(source, ReadReply(request.token, 0))

    def _try_read_round(self) -> None:
        """Begin a round if reads wait, none is running, and the commit index is of this term.

        It goes to the majority that answered last, and to all if those are late.
        """
        if self._reads.running is None and self._reads.waiting and self._knows_commit():
            self._reads.begin(self.commit)
            self._round_due = self.clock() + self.timing.heartbeat_s / _LATE
            for follower in self._likely_majority():
                self._send_heartbeat(follower)
            self._confirm_reads()

    def _likely_majority(self) -> list[Progress]:
        configuration = self._configuration()
        voters = [self._followers[peer] for peer in configuration.voters if peer in self._followers]
        voters.sort(key=lambda follower: follower.last_seen_at, reverse=True)
        return voters[: configuration.majority - (self.me in configuration.voters)]

    def _knows_commit(self) -> bool:
        return self.noop_index is not None and self.commit >= self.noop_index

    def _confirm_reads(self) -> None:
        while self._reads.running is not None and self._is_confirmed(self._reads.running.number):
            ended = self._reads.end()
            self._round_due = float("inf")
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

    # Membership (section 6; one change at a time: thesis, 4.1) and handing over (thesis, 3.10).

    def _change_refusal(self, configuration: Configuration) -> str | None:
        current = self._configuration()
        if not self._knows_commit():
            return "no entry of this term is committed yet; try again"
        if self.log.configuration_index > self.commit:
            return "the previous change is not committed yet; try again"
        if not current.changes_one_voter(configuration):
            return "more than one voter changes; change one at a time"
        if self.me not in configuration.voters:
            return "the leader is among those that go; transfer leadership first"
        for peer in configuration.voters:
            if peer not in current.voters and not self._has_caught_up(peer):
                return f"{peer.node} has not caught up; add it as a learner and wait"
        return None

    def _has_caught_up(self, peer: Peer) -> bool:
        follower = self._followers.get(peer)
        if follower is None or follower.mode is not REPLICATE:
            return False
        return self.log.last.index - follower.match <= self.limits.promotion_lag_entries

    def _configuration_changed(self) -> None:
        """Adopt the log's configuration and its followers."""
        super()._configuration_changed()
        configuration = self.log.configuration
        if configuration is None or self.role != LEADER:
            return
        for peer, follower in self._followers.items():
            if peer not in configuration.peers:
                # Its callers wait for what is committed by now, and it hears of nothing more.
                self._send_heartbeat(follower)
        now = self.clock()
        self._followers = {
            peer: self._followers.get(peer) or Progress(peer, self.log.last.index + 1, now)
            for peer in configuration.peers
            if peer != self.me
        }
        self._confirm_reads()

    def _try_handover(self) -> None:
        """Let the target campaign once it holds the whole log."""
        if self._handover is None:
            return
        follower = self._followers.get(self._handover.target)
        if follower is not None and follower.match == self.log.last.index:
            self._send(follower.peer, TimeoutNow())
