"""Locks and elections: held for as long as a lease is kept, with a token that fences writes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, TypeVar, Unpack

from quorate.client import (
    ChangeKind,
    OutcomeUnknownError,
    QuorateError,
    RejectedError,
    UnavailableError,
)
from quorate.client.coordination import Leadership, LockOptions
from quorate.plugin import Fence, keys

from quorate_coordination.client.leases import TTL_S, LeaseLostError, RenewedLease, new_name
from quorate_coordination.families import CLAIMS, LOCKS, lock_fence
from quorate_coordination.locks import ANY_NUMBER, CLAIM, LOCK
from quorate_coordination.v1 import locks_pb2 as pb

if TYPE_CHECKING:
    from quorate.client import AsyncClient

T = TypeVar("T")

_AGAIN_S: Final = 0.1
#: How often a waiting claim is polled besides the watch, as a part of its time to live.
_ASKED: Final = 0.5
#: The only claim of a lease that a lock has for itself.
_ID: Final = "1"


class LockLostError(LeaseLostError):
    """A lock was lost while it was held: another holder may have worked at the same time."""


class NotAcquiredError(QuorateError):
    """The lock was held by others for the whole time."""


class HeldLock:
    """A lock that is held. Give it to writes as their `fence`."""

    def __init__(self, q: AsyncClient, claim: pb.Claim, lease: RenewedLease) -> None:
        self._q: Final = q
        self._lease: Final = lease
        #: The name of the lock.
        self.name: Final = claim.lock
        #: Larger than that of every holder before.
        self.token: Final = claim.token
        #: Refuses writes once the lock is lost: see the reference for when exactly.
        self.fence: Final = Fence(lock_fence(claim.lock, claim.permit), claim.token)

    @property
    def lost(self) -> bool:
        """Whether others may hold the lock now."""
        return self._lease.lost

    def check(self) -> None:
        """Raise `LockLostError` if others may hold the lock now."""
        if self.lost:
            raise LockLostError(
                f"lock {self.name} is lost: its lease was not renewed for"
                f" {self._lease.ttl_s:g} s; look at what was done since, and acquire it again"
            )

    async def wait_lost(self) -> None:
        """Return once others may hold the lock."""
        await self._lease.wait_lost()

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of `work`; when the lock is lost, cancel it, raise `LockLostError`."""
        async with _first_of(work, self.wait_lost()) as (working, _):
            if not working.done():
                self.check()
            result: T = await working
            return result

    async def proclaim(self, value: bytes) -> None:
        """Replace the value that observers see."""
        await self._q.records(CLAIM).do(
            "Proclaim",
            pb.Proclamation(lock=self.name, lease=self._lease.name, id=_ID, value=value),
        )


@asynccontextmanager
async def locking(
    q: AsyncClient, name: str, **options: Unpack[LockOptions]
) -> AsyncIterator[HeldLock]:
    """Hold a lock; raises `LockLostError` at the end if it was lost meanwhile."""
    ttl_s, wait_s = options.get("ttl_s", TTL_S), options.get("wait_s")
    lease = RenewedLease(q, new_name(name), ttl_s)
    wanted = pb.Acquisition(
        lock=name,
        lease=lease.name,
        id=_ID,
        owner=options.get("owner", ""),
        sharing=ANY_NUMBER if options.get("shared") else options.get("permits", 1),
        value=options.get("value", b""),
        no_wait=wait_s == 0,
        lease_ttl_ms=round(ttl_s * 1_000),
    )
    try:
        try:
            async with asyncio.timeout(wait_s or None):
                held = HeldLock(q, await _acquired(q, wanted, lease), lease)
        except TimeoutError:
            raise NotAcquiredError(
                f"lock {name} was held by others for {wait_s:g} s: wait longer"
            ) from None
        except RejectedError as error:
            if error.code != "LOCK_HELD":
                raise
            raise NotAcquiredError(error.message) from None
        yield held
        held.check()
    finally:
        await lease.end()


async def _acquired(q: AsyncClient, wanted: pb.Acquisition, lease: RenewedLease) -> pb.Claim:
    """Claim a lock, and wait until it is held."""
    claim = await _claimed(q, wanted, lease)
    if claim.token:
        return claim
    watching, asking = _granted(q, claim), _granted_if_asked(q, claim, lease.ttl_s * _ASKED)
    async with _first_of(watching, asking, lease.wait_lost()) as (*looks, _):
        granted: pb.Claim | None = next((each.result() for each in looks if each.done()), None)
    if granted is None:
        raise LockLostError(f"the claim on {wanted.lock} was lost while it waited: claim it again")
    return granted


async def _claimed(q: AsyncClient, wanted: pb.Acquisition, lease: RenewedLease) -> pb.Claim:
    """Send the claim until its outcome is known: it is the same however often it comes."""
    while True:
        sent_at = monotonic()
        try:
            claim = await q.records(CLAIM).do("Acquire", wanted, pb.Claim)
        except (OutcomeUnknownError, UnavailableError):
            await asyncio.sleep(_AGAIN_S)
        else:
            lease.begun(sent_at)
            return claim


async def _granted(q: AsyncClient, claim: pb.Claim) -> pb.Claim | None:
    """Return a claim that waits once it holds its lock; None when it is gone."""
    there = False
    prefix = keys.pack(claim.lock, claim.number)
    async with aclosing(q.watch(CLAIMS, prefix=prefix, marks=True)) as changes:
        async for change in changes:
            if change.kind is ChangeKind.RESYNC:
                there = False
            elif change.kind is ChangeKind.DELETED:
                return None
            elif change.kind is ChangeKind.LISTED:
                if not there:
                    return None
            elif change.kind is not ChangeKind.BOOKMARK:
                there, found = True, pb.Claim.FromString(change.value)
                if found.token:
                    return found
    return None


async def _granted_if_asked(q: AsyncClient, claim: pb.Claim, pause_s: float) -> pb.Claim | None:
    """Poll for the same as `_granted`: a watch hangs for seconds when its node does, and the claim
    would hold its lock without the claimant's knowledge.
    """
    while True:
        await asyncio.sleep(pause_s)
        try:
            key = (claim.lock, claim.number)
            found: pb.Claim | None = await q.records(CLAIM).get(*key, timeout_s=pause_s)
        except (UnavailableError, OutcomeUnknownError):
            continue
        if found is None or found.token:
            return found


@asynccontextmanager
async def _first_of(*work: Coroutine[Any, Any, Any]) -> AsyncIterator[list[asyncio.Task[Any]]]:
    """Provide tasks once the first of them is done; cancel the others at the end."""
    tasks = list(map(asyncio.create_task, work))
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class LockElection:
    """The holder of a lock leads; the others wait for their turn, or only observe."""

    def __init__(self, q: AsyncClient, name: str) -> None:
        self._q: Final = q
        self.name: Final = name

    def campaign(self, /, **options: Unpack[LockOptions]) -> AbstractAsyncContextManager[HeldLock]:
        """Lead, once all earlier candidates have; the lock fences the writes of a leader.

        The `value` is visible to observers until `Held.proclaim` replaces it.
        """
        return locking(self._q, self.name, **options)

    async def leader(self) -> Leadership | None:
        """Return the current leader; None without one."""
        return _leadership(await self._q.records(LOCK).get(self.name))

    async def observe(self) -> AsyncGenerator[Leadership | None, None]:
        """Yield the leader, and again whenever it changes; None without one."""
        known: Leadership | None = None
        yielded = False
        rows = self._q.watch(LOCKS, prefix=keys.pack(self.name), marks=True)
        async with aclosing(rows) as changes:
            current: Leadership | None = None
            async for change in changes:
                if change.kind in (ChangeKind.DELETED, ChangeKind.RESYNC):
                    current = None
                elif change.kind not in (ChangeKind.LISTED, ChangeKind.BOOKMARK):
                    current = _leadership(pb.Lock.FromString(change.value))
                if change.kind in (ChangeKind.ROW, ChangeKind.RESYNC):
                    continue
                if not yielded or current != known:
                    yielded, known = True, current
                    yield current


def _leadership(lock: pb.Lock | None) -> Leadership | None:
    if lock is None or not lock.holders:
        return None
    return Leadership(token=lock.token, owner=lock.owner, value=lock.value)
