"""Terms and elections: who leads, for how long, and who may not try."""

from typing import Final

from quorate.consensus.following import Following
from quorate.consensus.inherited import CANDIDATE, FOLLOWER, LEADER, replaces
from quorate.consensus.messages import EntryKind, Peer, RequestVote, VoteReply
from quorate.consensus.reads import ReadOutcome, ReadRounds
from quorate.consensus.refusals import ReplicaStoppedError
from quorate.consensus.state import Ballot

#: How many election timeouts a reluctant replica gives the others.
_OTHERS_TIMEOUTS: Final = 4


class Electing(Following):
    """Elections, and stepping down."""

    # Time and terms (sections 5.1 and 5.2).

    @replaces("_onTick")
    def on_time(self, _: float = 0.0) -> None:
        """Campaign, send heartbeats, or step down when no majority answers."""
        now = self.clock()
        if self.role == LEADER and not self.resting:
            if max(self._majority_seen_at(), self._woke_at) < now - self.timing.quorum_window_s:
                self._step_down(self.term, None)
            elif now >= min(self.heartbeat_deadline, self._round_due):
                self._send_heartbeats()
            if self._handover is not None and now >= self._handover.deadline:
                self._handover = None
        for sent in [sent for sent, (_, until) in self._forwarded_reads.items() if until <= now]:
            token, _ = self._forwarded_reads.pop(sent)
            self._read_outcomes.append(ReadOutcome(token, None))
            # Nobody answers for the shard.
            self._wake()
        if self.role != LEADER and not self.resting and now >= self.election_deadline:
            self._draw_election_deadline()
            if self._is_admitted(now):
                self._campaign(pre=True)

    def _step_down(self, term: int, leader: Peer | None) -> None:
        """Become a follower, in a later term without a vote."""
        self._end_rest()
        if term > self.term:
            self.set_hard_state(term, None)
            self._verified = 0
        was_follower = self.role == FOLLOWER
        if self.role == LEADER:
            self._note_agreed()
        self.set_role(FOLLOWER)
        self.leader = leader
        self._ballot = None
        self._end_candidacy()
        self._handover = None
        self._followers = {}
        self._snapshots_needed.clear()
        for asker in self._reads.abandon():
            self._answer_read(asker, None)
        if not was_follower:
            self._draw_election_deadline()

    def _follow(self, leader: Peer) -> None:
        """Accept the leader of the current term."""
        if self.role == LEADER:
            raise ReplicaStoppedError(
                f"two leaders in term {self.term}: {self.me} and {leader}",
                "report this with the logs of both nodes: it must never happen",
            )
        self._end_rest()
        if self.role == CANDIDATE or self.leader != leader:
            self._step_down(self.term, leader)
        self._leader_seen_at = self.clock()
        self._draw_election_deadline()

    # Votes (sections 5.2 and 5.4.1; PreVote and stickiness: thesis, 9.6 and 4.2.3).

    def _may_campaign(self) -> bool:
        configuration = self.log.configuration
        return configuration is not None and self.me in configuration.voters

    def stand(self) -> None:
        """Stand for election now, unless there is a leader: another replica has made room."""
        self._call(self._stand)

    def _stand(self) -> None:
        if self.resting or self._has_leader():
            self._end_candidacy()
        else:
            # So a leader that is heard before the next turn ends the candidacy.
            self.leader = None
            self.election_deadline = self.clock()

    def _is_admitted(self, now: float) -> bool:
        if not self._may_campaign() or self._leaves_it_to_others(now):
            self._end_candidacy()
            return False
        return self.liveness is None or self.liveness.candidates.admit(self)

    def _end_candidacy(self) -> None:
        if self.liveness is not None:
            self.liveness.candidates.leave(self)

    def _leaves_it_to_others(self, now: float) -> bool:
        patience_s = _OTHERS_TIMEOUTS * self.timing.election_max_s
        return now - self.leader_seen_at < patience_s and self.reluctant()

    def _campaign(self, *, pre: bool, transfer: bool = False) -> None:
        self._end_rest()
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
            granted = granted and not self._has_leader()
            self._send(source, VoteReply(granted, True, term), term=term if granted else self.term)
            return
        granted = self._may_vote_for(source) and self._is_up_to_date(request)
        if granted and self.voted_for is None:
            self.set_hard_state(self.term, source)
        if granted:
            self._draw_election_deadline()
        self._send(source, VoteReply(granted, False, term), self.log.state_sequence)

    def _may_vote_for(self, candidate: Peer) -> bool:
        return self.role == FOLLOWER and self.voted_for in (None, candidate)

    def _is_up_to_date(self, request: RequestVote) -> bool:
        last = self.log.last
        return (request.last_term, request.last_index) >= (last.term, last.index)

    def _has_leader(self) -> bool:
        """Whether a leader was in contact within the shortest election timeout."""
        if self.role == LEADER:
            return True
        recent = self.clock() - self.leader_seen_at < self.timing.election_min_s
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
        """Start to lead: append an entry of this term; nothing is known of the followers yet."""
        self.set_role(LEADER)
        self.leader = self.me
        self._ballot = None
        self._end_candidacy()
        for token, _ in self._forwarded_reads.values():
            self._read_outcomes.append(ReadOutcome(token, None))
        self._forwarded_reads.clear()
        self._reads = ReadRounds()
        self._followers = {}
        self._offered = False
        self._configuration_changed()
        self.noop_index = self._append_own(EntryKind.NOOP, b"").index
        self._send_heartbeats()

    def _on_timeout_now(self, source: Peer) -> None:
        if source == self.leader and self._may_campaign():
            self._campaign(pre=False, transfer=True)
