"""Locks, elections and leases, as the client offers them: their types, without an implementation.

The extension `coordination` implements them; it is imported on first use.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypedDict, TypeVar, Unpack, runtime_checkable

from google.protobuf.message import Message

from quorate.client.extensions import Extension, extension
from quorate.plugin import Fence

T = TypeVar("T")

#: The name of the extension.
NAME: Final = "coordination"


class LockOptions(TypedDict, total=False):
    """Options of a lock."""

    #: Share the lock with any number of holders.
    shared: bool
    #: Maximum number of holders.
    permits: int
    #: Seconds to wait before `NotAcquiredError` is raised; 0: do not wait; None: wait for ever.
    wait_s: float | None
    #: The lock is released when the program has not renewed it for this many seconds.
    ttl_s: float
    #: A name of the holder, for people to read.
    owner: str
    #: The value of an exclusive holder, which observers see.
    value: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Leadership:
    """The leader of an election."""

    #: The token of its lock.
    token: int
    owner: str
    #: The value that the leader publishes.
    value: bytes


class _HeldLock(Protocol):
    @property
    def name(self) -> str:
        """The name of the lock."""

    @property
    def token(self) -> int:
        """The token of this holder, larger than that of every holder before."""

    @property
    def fence(self) -> Fence:
        """The fence that refuses writes once the lock is lost.

        The reference says when exactly.
        """

    @property
    def lost(self) -> bool:
        """Whether others may hold the lock now."""

    def check(self) -> None:
        """Raise `LockLostError` if others may hold the lock now."""


@runtime_checkable
class Held(_HeldLock, Protocol):
    """A lock that is held. Give it to writes as their `fence`."""

    async def wait_lost(self) -> None:
        """Return once others may hold the lock."""

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of `work`; when the lock is lost, cancel it, raise `LockLostError`."""

    async def proclaim(self, value: bytes) -> None:
        """Replace the value that observers see."""


class _Lease(Protocol):
    @property
    def name(self) -> str:
        """The name of the lease: up to the first slash the place of all that it holds."""

    @property
    def lost(self) -> bool:
        """Whether the lease has ended, or may have: then its rows are lost."""


@runtime_checkable
class KeptLease(_Lease, Protocol):
    """A lease that is renewed for as long as the program lives and reaches the cluster."""

    @property
    def ttl_s(self) -> float:
        """The seconds without a renewal after which the lease ends."""

    def check(self) -> None:
        """Raise `LeaseLostError` if the lease is lost."""

    async def wait_lost(self) -> None:
        """Return once the lease is lost."""

    async def attach(self, on_end: Message, *, row: str = "") -> Fence:
        """Let a public command delete a row when the lease ends; return the fence for its writes.

        Writes of the row with this fence are refused once the lease has ended, or another lease has
        taken the row over by attaching the same command, or one for the same `row`.
        """

    async def put(self, key: str | bytes, value: bytes) -> None:
        """Write a pair that is deleted when the lease ends."""


@runtime_checkable
class Election(Protocol):
    """An election: the holder of a lock leads; the others wait for their turn, or only observe."""

    @property
    def name(self) -> str:
        """The name of the election, and of its lock."""

    def campaign(self, /, **options: Unpack[LockOptions]) -> AbstractAsyncContextManager[Held]:
        """Lead, once all earlier candidates have; the lock fences the writes of a leader.

        The `value` is visible to observers until `Held.proclaim` replaces it.
        """

    async def leader(self) -> Leadership | None:
        """Return the current leader; None without one."""

    def observe(self) -> AsyncGenerator[Leadership | None, None]:
        """Yield the leader, and again whenever it changes; None without one."""


@runtime_checkable
class SyncHeld(_HeldLock, Protocol):
    """A lock that is held, for code that does not await."""

    def wait_lost(self) -> None:
        """Return once others may hold the lock."""

    def proclaim(self, value: bytes) -> None:
        """Replace the value that observers see."""


@runtime_checkable
class SyncKeptLease(_Lease, Protocol):
    """A lease that is kept, for code that does not await."""

    def wait_lost(self) -> None:
        """Return once the lease is lost."""

    def attach(self, on_end: Message, *, row: str = "") -> Fence:
        """Let a public command delete a row when the lease ends, as `KeptLease.attach` does."""

    def put(self, key: str | bytes, value: bytes) -> None:
        """Write a pair that is deleted when the lease ends."""


@runtime_checkable
class SyncElection(Protocol):
    """An election, for code that does not await."""

    def campaign(self, /, **options: Unpack[LockOptions]) -> AbstractContextManager[SyncHeld]:
        """Lead, once all earlier candidates have."""

    def leader(self) -> Leadership | None:
        """Return the current leader; None without one."""

    def observe(self) -> Iterator[Leadership | None]:
        """Yield the leader, and again whenever it changes; None without one."""


@runtime_checkable
class Coordination(Protocol):
    """Locks, elections and leases over an `AsyncClient`."""

    def lock(
        self, name: str, /, **options: Unpack[LockOptions]
    ) -> AbstractAsyncContextManager[Held]:
        """Hold a lock: alone, `shared` with any number, or as one of `permits` holders."""

    def election(self, name: str) -> Election:
        """Return the election of a name, which is the lock of that name."""

    def lease(
        self, place: str, *, ttl_s: float = ..., owner: str = ""
    ) -> AbstractAsyncContextManager[KeptLease]:
        """Keep a lease for rows whose keys begin like `place`, up to the first slash."""


@runtime_checkable
class SyncCoordination(Protocol):
    """Locks, elections and leases over a `Client`."""

    def lock(
        self, name: str, /, **options: Unpack[LockOptions]
    ) -> AbstractContextManager[SyncHeld]:
        """Hold a lock, as `Coordination.lock` does."""

    def election(self, name: str) -> SyncElection:
        """Return the election of a name, which is the lock of that name."""

    def lease(
        self, place: str, *, ttl_s: float = ..., owner: str = ""
    ) -> AbstractContextManager[SyncKeptLease]:
        """Keep a lease, as `Coordination.lease` does."""


#: The type of the extension.
CoordinationExtension = Extension[Coordination, SyncCoordination]


def installed() -> CoordinationExtension:
    """Return the extension; raises `InvalidError` if it is not installed."""
    return extension(NAME)
