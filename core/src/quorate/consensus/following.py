"""Handles entries, commits and heartbeats of the current leader."""

from quorate.consensus.leading import Leading
from quorate.consensus.messages import (
    Append,
    AppendReply,
    Heartbeat,
    HeartbeatReply,
    Hibernate,
    Hibernating,
    Peer,
    ReadReply,
)
from quorate.consensus.reads import ReadOutcome
from quorate.consensus.refusals import MemoryLostError, ReplicaStoppedError


class Following(Leading):
    """The follower's part of Raft."""

    #: The newest heartbeat that was answered: its term and read round, and when.
    _answered = (0, 0)
    _answered_at = float("-inf")

    # Replication (section 5.3).

    def _on_append(self, leader: Peer, append: Append) -> None:
        append = self._after_sentinel(append)
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

    def _after_sentinel(self, append: Append) -> Append:
        """Drop entries that this log has compacted: they were committed, so they agree."""
        sentinel = self.log.sentinel
        cut = sentinel.index - append.prev_index
        if cut <= 0:
            return append
        if cut >= len(append.entries):
            return Append(sentinel.index, sentinel.term, (), append.commit)
        return Append(sentinel.index, sentinel.term, append.entries[cut:], append.commit)

    def _take_entries(self, append: Append) -> None:
        """Append the new entries; truncate only at a conflict."""
        for position, entry in enumerate(append.entries):
            held = self.log.term_of(entry.index)
            if held == entry.term:
                continue
            before = self.log.configuration_index
            if held is not None:
                self._truncate_from(entry.index)
            self.log.append(append.entries[position:])
            if held is not None or self.log.configuration_index != before:
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
        """Commit only up to what this message verified."""
        return min(append.commit, append.prev_index + len(append.entries))

    def _acknowledgement_needs(self, index: int) -> int:
        return self.log.sequence_of(index)

    def _on_heartbeat(self, leader: Peer, heartbeat: Heartbeat) -> None:
        self._check_memory(leader, heartbeat)
        news = heartbeat.commit > self.commit
        self._commit_to(heartbeat.commit)
        now = self.clock()
        if heartbeat.agreed:
            self._agreed = now, heartbeat.agreed
        asked = self.term, heartbeat.round
        # It told a commit index, and asked nothing that was not answered a moment ago.
        if news and asked == self._answered and now - self._answered_at < self.timing.answered_s:
            return
        self._answered, self._answered_at = asked, now
        self._answer_heartbeat(leader, heartbeat.round)

    def _check_memory(self, leader: Peer, heartbeat: Heartbeat) -> None:
        """Stop where this log ends before what the leader tells this replica to commit.

        It tells no more than this replica has acknowledged to it, which was durable then.
        """
        if heartbeat.commit > self.log.last.index:
            raise MemoryLostError(
                f"{leader.node} knows that this replica acknowledged entry {heartbeat.commit}, and"
                f" its log ends at {self.log.last.index}: node.dir is an older copy of itself, or"
                " its disk lost what was synced",
                "it must vote no more, and begin anew: `quorate member replace`",
            )

    def _answer_heartbeat(self, leader: Peer, number: int) -> None:
        # Every leader holds what was committed: it agrees without having been verified.
        match = min(max(self._verified, self.commit), self.log.synced_index)
        self._send(leader, HeartbeatReply(number, match))

    def _on_rest(self, leader: Peer, rest: Hibernate) -> None:
        """Agree to rest, or answer as a heartbeat of no read round."""
        self._agreed = self.clock(), rest.index
        if not self._may_rest(leader, rest):
            self._answer_heartbeat(leader, 0)
            return
        self._fall_asleep([leader.node])
        self._send(leader, Hibernating(rest.index, rest.epoch))

    def _may_rest(self, leader: Peer, rest: Hibernate) -> bool:
        """Whether nothing is missing here, and this node hears that of the leader.

        What is committed here agrees with the leader's log, so a log that ends there is the same.
        """
        log = self.log
        return (
            self.liveness is not None
            and self.liveness.lives(leader.node, rest.epoch)
            and log.last.index == rest.index == self.commit == self.applied
            and log.synced_index >= rest.index
            and not self._forwarded_reads
        )

    def _on_read_reply(self, reply: ReadReply) -> None:
        asked = self._forwarded_reads.pop(reply.token, None)
        if asked is not None:
            self._read_outcomes.append(ReadOutcome(asked[0], reply.index or None))
