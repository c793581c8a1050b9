"""When the rows of a replica may be read, and how old they are."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from quorate.apply.applier import Applier
from quorate.apply.entries import index_of
from quorate.consensus.driver import Driver
from quorate.consensus.inherited import LEADER
from quorate.plugin.shard_id import ShardId
from quorate.shards.shard.barrier import Barrier
from quorate.shards.shard.settings import ShardSettings

_NEVER: Final = (float("-inf"), 0)


class Staleness(NamedTuple):
    """How old a stale read may be."""

    revision: int
    #: How long ago everything that was committed then is applied here, as far as messages tell
    #: that were not long on their way; -1 when nothing is known since the replica started.
    age_ms: int


class Freshness:
    """Tracks the age of the applied state, by the times of commits."""

    def __init__(self) -> None:
        #: The last moment whose committed entries are all applied here.
        self.at = float("-inf")
        #: The oldest and newest updates that are not applied yet: (moment, index).
        self._waited_for: tuple[float, int] | None = None
        self._newest = float("-inf"), 0

    def update(self, moment: float, index: int, applied: int) -> None:
        """Record the commit index of a moment."""
        if moment <= self._newest[0]:
            return
        self._newest = moment, index
        if self._waited_for is None:
            self._waited_for = self._newest
        self.applied(applied)

    def applied(self, index: int) -> None:
        """Record the applied index."""
        if self._waited_for is None or index < self._waited_for[1]:
            return
        if index >= self._newest[1]:
            self.at, self._waited_for = self._newest[0], None
        else:
            self.at, self._waited_for = self._waited_for[0], self._newest


class ShardReads:
    """The reads of a replica; without a timeout they wait for `read_timeout_s`."""

    def __init__(
        self,
        shard: ShardId,
        driver: Driver,
        applier: Applier,
        loop: asyncio.AbstractEventLoop,
        settings: ShardSettings,
        leaderless_from: Callable[[], float],
    ) -> None:
        self._replica: Final = driver.replica
        self._applier: Final = applier
        self._clock: Final = loop.time
        self._timeout_s: Final = settings.read_timeout_s
        self.barrier: Final = Barrier(
            shard,
            loop,
            lambda token: driver.tell(driver.replica.read_index, token, alone=True),
            lambda: loop.time() >= leaderless_from(),
            applied=applier.applied,
            linger_s=settings.linger_s,
            retry_s=settings.timing.heartbeat_s,
        )
        self._freshness: Final = Freshness()
        self._heard: tuple[float, int] | None = None
        #: The last turn in which this replica led, and what was committed then.
        self._led: tuple[float, int] = _NEVER
        #: The number of linearizable reads.
        self.total = 0

    def read_barrier(
        self, timeout_s: float | None = None, *, patient: bool = True
    ) -> asyncio.Future[int]:
        """Return an applied index that covers every write answered before this call.

        Ends with `ReadTimeoutError` or another `UnreadableError`; without patience with
        `LeaderlessError` from `Shard.leaderless_from` on.
        """
        self.total += 1
        timeout = self._timeout_s if timeout_s is None else timeout_s
        return self.barrier.read(timeout, patient=patient)

    def wait_for(self, revision: int, timeout_s: float | None = None) -> asyncio.Future[int]:
        """Return the applied index once the write of a revision is applied here."""
        timeout = self._timeout_s if timeout_s is None else timeout_s
        return self.barrier.wait_for(index_of(revision), timeout)

    async def opened(self, families: Iterable[str], timeout_s: float | None = None) -> None:
        """Return when no publication is under way that may change one of these families.

        Ends as `read_barrier`.
        """
        deadline = self._clock() + (self._timeout_s if timeout_s is None else timeout_s)
        applier = self._applier
        while (closed := applier.published.closed) and not set(closed).isdisjoint(families):
            await self.barrier.wait_for(applier.applied + 1, max(0.0, deadline - self._clock()))

    def staleness(self) -> Staleness:
        """Return the staleness of the rows here."""
        self._hear_agreed()
        at, revision = self._freshness.at, self._applier.revision
        if at == float("-inf"):
            return Staleness(revision, -1)
        return Staleness(revision, int((self._clock() - at) * 1_000))

    def turned(self) -> None:
        """Record what is committed in a turn of the replica."""
        if self._replica.role == LEADER:
            # Whom it heard is asked when somebody wants to know.
            self._led = self._clock(), self._replica.commit
        else:
            self._led = _NEVER
            self._hear_agreed()

    def _hear_agreed(self) -> None:
        """Record what the replica knows to be committed."""
        agreed = self._replica.agreed
        if agreed is self._heard:
            return
        self._heard = agreed
        applied, (moment, committed) = self._applier.applied, self._led
        # While a majority was heard nobody else led: what was committed by a turn is known.
        self._freshness.update(min(agreed[0], moment), committed, applied)
        self._freshness.update(*agreed, applied)

    def applied(self) -> None:
        """Serve the reads that waited for entries that are applied now."""
        index = self._applier.applied
        self.barrier.applied(index)
        self._freshness.applied(index)
