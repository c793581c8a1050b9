"""Coordination for Python programs: `Coordination(q)` over an `AsyncClient`, and its twin."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Final, Unpack

from quorate.client import AsyncClient, Blocking, Client, Records, SyncRecords, blocking, iterating
from quorate.client.coordination import (
    CoordinationExtension,
    Election,
    Held,
    KeptLease,
    Leadership,
    LockOptions,
    SyncElection,
    SyncHeld,
    SyncKeptLease,
)
from quorate.client.extensions import Extension
from quorate.client.twins import LoopThread, entering_twin, twinned

from quorate_coordination.client.leases import TTL_S, LeaseLostError, RenewedLease, keeping
from quorate_coordination.client.locks import (
    HeldLock,
    LockElection,
    LockLostError,
    NotAcquiredError,
    locking,
)
from quorate_coordination.client.queues import Queue, SyncQueue, SyncTaker, Taken, Taker
from quorate_coordination.client.recipes import (
    Barrier,
    Counter,
    Gate,
    SyncBarrier,
    SyncCounter,
    SyncGate,
)
from quorate_coordination.leases import LEASE
from quorate_coordination.locks import CLAIM, LOCK
from quorate_coordination.v1 import leases_pb2, locks_pb2

__all__ = [
    "EXTENSION",
    "Barrier",
    "Coordination",
    "Counter",
    "Election",
    "Gate",
    "Held",
    "KeptLease",
    "Leadership",
    "LeaseLostError",
    "LockLostError",
    "LockOptions",
    "NotAcquiredError",
    "Queue",
    "SyncBarrier",
    "SyncCoordination",
    "SyncCounter",
    "SyncElection",
    "SyncGate",
    "SyncHeld",
    "SyncKeptLease",
    "SyncQueue",
    "SyncTaker",
    "Taken",
    "Taker",
]


class Coordination:
    """Leases, locks and elections."""

    def __init__(self, q: AsyncClient) -> None:
        self._q: Final = q
        self.leases: Final[Records[leases_pb2.Lease]] = q.records(LEASE)
        self.locks: Final[Records[locks_pb2.Lock]] = q.records(LOCK)
        self.claims: Final[Records[locks_pb2.Claim]] = q.records(CLAIM)

    def lock(
        self, name: str, /, **options: Unpack[LockOptions]
    ) -> AbstractAsyncContextManager[HeldLock]:
        """Hold a lock: alone, `shared` with any number, or as one of `permits` holders.

        Claims are granted in their order. Raises `LockLostError` at the end if the lock was lost
        meanwhile.
        """
        return locking(self._q, name, **options)

    def election(self, name: str) -> LockElection:
        """Return the election of a name, which is the lock of that name."""
        return LockElection(self._q, name)

    def counter(self, key: str) -> Counter:
        """Return the counter in the pair of a key."""
        return Counter(self._q, key)

    def queue(self, name: str) -> Queue:
        """Return the queue in the pairs with a prefix."""
        return Queue(self._q, name)

    def gate(self, name: str) -> Gate:
        """Return the gate in the pairs with a prefix."""
        return Gate(self._q, name)

    def barrier(self, name: str, parties: int) -> Barrier:
        """Return the barrier of `parties` programs in the pairs with a prefix."""
        return Barrier(self._q, name, parties)

    def lease(
        self, place: str, *, ttl_s: float = TTL_S, owner: str = ""
    ) -> AbstractAsyncContextManager[RenewedLease]:
        """Keep a lease for rows whose keys begin like `place`, up to the first slash."""
        return keeping(self._q, place, ttl_s=ttl_s, owner=owner)


class SyncHeldLock(Blocking[HeldLock]):
    """A lock that is held, for code that does not await."""

    def __init__(self, thread: LoopThread, held: HeldLock) -> None:
        super().__init__(thread, held)
        self.name: Final = held.name
        self.token: Final = held.token
        self.fence: Final = held.fence

    @property
    def lost(self) -> bool:
        """Whether others may hold the lock now."""
        return self.asynchronous.lost

    def check(self) -> None:
        """Raise `LockLostError` if others may hold the lock now."""
        self.asynchronous.check()

    wait_lost = blocking(HeldLock.wait_lost)
    proclaim = blocking(HeldLock.proclaim)


class SyncRenewedLease(Blocking[RenewedLease]):
    """A lease that is kept, for code that does not await."""

    @property
    def name(self) -> str:
        """Its name."""
        return self.asynchronous.name

    @property
    def lost(self) -> bool:
        """Whether it has ended, or may have."""
        return self.asynchronous.lost

    attach = blocking(RenewedLease.attach)
    put = blocking(RenewedLease.put)
    wait_lost = blocking(RenewedLease.wait_lost)


class SyncLockElection(Blocking[LockElection]):
    """An election, for code that does not await."""

    campaign = entering_twin(LockElection.campaign, SyncHeldLock)
    leader = blocking(LockElection.leader)
    observe = iterating(LockElection.observe)


class SyncCoordination(Blocking[Coordination]):
    """The same over a `Client`, without `await`."""

    def __init__(self, q: Client) -> None:
        coordination = Coordination(q.asynchronous)
        super().__init__(q.thread, coordination)
        self.leases: Final[SyncRecords[leases_pb2.Lease]] = q.records(LEASE)
        self.locks: Final[SyncRecords[locks_pb2.Lock]] = q.records(LOCK)
        self.claims: Final[SyncRecords[locks_pb2.Claim]] = q.records(CLAIM)

    lock = entering_twin(Coordination.lock, SyncHeldLock)
    lease = entering_twin(Coordination.lease, SyncRenewedLease)
    election = twinned(Coordination.election, SyncLockElection)
    counter = twinned(Coordination.counter, SyncCounter)
    queue = twinned(Coordination.queue, SyncQueue)
    gate = twinned(Coordination.gate, SyncGate)
    barrier = twinned(Coordination.barrier, SyncBarrier)


#: The extension that `q.lock`, `q.election` and `q.lease` of both clients import.
EXTENSION: Final[CoordinationExtension] = Extension(
    asynchronous=Coordination, synchronous=SyncCoordination
)
