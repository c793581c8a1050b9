"""What the node's face needs of the replicas on this node."""

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
        """How long ago the replica last knew that it had all that its leader had committed."""


class LocalShard(Protocol):
    """A shard's replica on this node; `groups.shard.Shard` is one."""

    @property
    def leader(self) -> Peer | None:
        """Who leads, as far as this replica knows."""

    @property
    def leads(self) -> bool:
        """Whether this replica does."""

    @property
    def term(self) -> int:
        """The newest term that it has seen."""

    @property
    def revision(self) -> int:
        """The newest revision that is applied."""

    @property
    def leaderless_from(self) -> float:
        """From when on nobody need wait for a leader, on the loop's clock; infinite with one."""

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
        """Return once what is applied here holds every write that was answered before."""

    def wait_for(self, revision: int, timeout_s: float | None = None) -> asyncio.Future[int]:
        """Return once a revision is applied here."""

    def staleness(self) -> Age:
        """Return what a read would see now."""

    def reader(self, reads: frozenset[str], copies: Copies = Copies.FRESH) -> Reader:
        """Return a view of some families, as they are in this turn of the loop."""

    async def catch_up(self, timeout_s: float) -> bool:
        """Wait until the copies of mirrored families hold all that was answered before this call.

        Returns whether that is known; false at once where the replica does not lead.
        """


class LocalShards(Protocol):
    """The replicas on this node, and what it knows of where all others are."""

    @property
    def slot_map(self) -> SlotMap:
        """The newest slot map that has come to this node."""

    def knowing(self, command: str) -> Sequence[str]:
        """Return the nodes whose plugins declare a command, as far as this one was told."""

    def get(self, shard: ShardId) -> LocalShard | None:
        """Return a replica that takes part; None where there is none, or it has stopped."""
