"""Records the roles of a replica, and the entries that were committed while it had them."""

from collections.abc import Sequence
from typing import Final

from quorate.consensus.membership import Configuration
from quorate.consensus.messages import CONFIG, Entry, weight
from quorate.consensus.replica import Replica
from quorate.observe.recorder import COMMITTED, Recorder
from quorate.plugin.shard_id import ShardId


class RoleRecord:
    """Records each role once, and each committed entry once."""

    def __init__(
        self, recorder: Recorder, shard: ShardId, replica: Replica, *, applied: int
    ) -> None:
        self._recorder: Final = recorder
        self._shard: Final = str(shard)
        self._replica: Final = replica
        #: The last recorded role, term and leader.
        self._role: tuple[object, ...] = ()
        #: The last recorded entry.
        self._index = applied

    def role(self) -> None:
        """Record the role, if it has changed."""
        replica = self._replica
        now = (replica.role, replica.term, replica.leader)
        if now != self._role:
            self._role = now
            leader = "" if replica.leader is None else replica.leader.node
            self._recorder.event(
                "role", shard=self._shard, role=replica.role, term=replica.term, leader=leader
            )

    def committed(self, entries: Sequence[Entry]) -> None:
        """Record entries before they are applied: the last one may end the process."""
        new = [each for each in entries if each.index > self._index]
        if not new:
            return
        first, last = new[0], new[-1]
        self._index = last.index
        self._recorder.entries(
            COMMITTED,
            self._shard,
            index=first.index,
            term=last.term,
            count=len(new),
            size=sum(map(weight, new)),
        )
        for each in new:
            if each.kind is CONFIG:
                members = Configuration.decode(each.payload).members
                voters = {member.peer.node: member.voter for member in members}
                self._recorder.event("members", shard=self._shard, index=each.index, voters=voters)
