"""The port to the replicas on this node."""

import asyncio
from collections.abc import Sequence
from typing import Protocol

from quorate.apply.entries import Copies, LoggedCommand
from quorate.apply.outcomes import Outcome
from quorate.consensus.messages import Peer
from quorate.groups.routing.slot_map import SlotMap
from quorate.plugin import Reader
from quorate.plugin.shard_id import ShardId


class Age(Protocol):
    """How old a stale read may be."""

    @property
    def age_ms(self) -> int:
        """How long ago the replica had all that its leader had committed."""


class LocalShard(Protocol):
    """A shard's replica on this node; `groups.shard.Shard` is one."""

    @property
    def leader(self) -> Peer | None:
        """The leader, as far as this replica knows."""

    @property
    def leads(self) -> bool:
        """Whether this replica leads."""

    @property
    def term(self) -> int:
        """The newest term that it has seen."""

    @property
    def revision(self) -> int:
        """The newest applied revision."""

    @property
    def leaderless_from(self) -> float:
        """When to stop waiting for a leader, on the loop's clock; infinite with one."""

    def propose(
        self,
        commands: Sequence[LoggedCommand],
        *,
        term: int | None = None,
        timeout_s: float | None = None,
    ) -> asyncio.Future[tuple[Outcome, ...]]:
        """Replicate commands in one entry."""

    def read_barrier(
        self, timeout_s: float | None = None, *, patient: bool = True
    ) -> asyncio.Future[int]:
        """Return once every write that was answered before is applied here."""

    def wait_for(self, revision: int, timeout_s: float | None = None) -> asyncio.Future[int]:
        """Return once a revision is applied here."""

    def staleness(self) -> Age:
        """Return the state that a read would see now."""

    def reader(self, reads: frozenset[str], copies: Copies = Copies.FRESH) -> Reader:
        """Return a view of some families, consistent within this turn of the loop."""

    async def catch_up(self, timeout_s: float) -> bool:
        """Wait until the copies of mirrored families have all writes answered before this call.

        Returns whether that is confirmed; false at once if the replica does not lead.
        """


class LocalShards(Protocol):
    """The replicas on this node, and the known places of all others."""

    @property
    def slot_map(self) -> SlotMap:
        """The newest slot map on this node."""

    def knowing(self, command: str) -> Sequence[str]:
        """Return the nodes whose plugins declare a command, as far as this node knows."""

    def get(self, shard: ShardId) -> LocalShard | None:
        """Return a running replica that is a member of its shard, or None."""
