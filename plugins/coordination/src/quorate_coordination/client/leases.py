"""Leases that a program keeps, and rows that go with them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from secrets import token_hex
from time import monotonic
from typing import TYPE_CHECKING, Final

from google.protobuf.message import Message
from quorate.client import QuorateError, RejectedError
from quorate.plugin import Fence
from quorate.v1.command_pb2 import Command
from quorate.v1.kv_pb2 import DeletePair

from quorate_coordination.attachments import ATTACHMENT
from quorate_coordination.families import row_fence
from quorate_coordination.leases import LEASE
from quorate_coordination.v1 import leases_pb2 as pb

if TYPE_CHECKING:
    from quorate.client import AsyncClient

TTL_S: Final = 10.0
#: A lease is renewed four times in its time to live, and given up a quarter before its end: a clock
#: of the cluster that jumps by less than a quarter of it ends the lease by so much earlier.
_RENEWALS: Final = 4
_PATIENCE: Final = 0.75
#: Between two attempts to renew a lease.
_AGAIN_S: Final = 0.1
#: Ending a lease is a courtesy: without it the lease expires.
_END_S: Final = 5.0


class LeaseLostError(QuorateError):
    """A lease was not renewed in time: others may hold its locks and rows now."""


class RenewedLease:
    """A lease that is renewed for as long as the program lives and reaches the cluster."""

    def __init__(self, q: AsyncClient, name: str, ttl_s: float) -> None:
        self._q: Final = q
        self._records: Final = q.records(LEASE)
        #: The name: up to the first slash the shard key of all locks and rows of the lease.
        self.name: Final = name
        self.ttl_s: Final = ttl_s
        self._lost: Final = asyncio.Event()
        #: The time at which the last successful renewal was sent.
        self._renewed_at = float("inf")
        self._keeper: asyncio.Task[None] | None = None
        self._attached: Final[dict[bytes, Fence]] = {}

    @property
    def lost(self) -> bool:
        """Whether the lease has ended, or may have: then its locks and rows are lost."""
        # A program that was stopped for long knows it at once, before its keeper has run.
        return self._lost.is_set() or self._left_s() <= 0

    def check(self) -> None:
        """Raise `LeaseLostError` if the lease is lost."""
        if self.lost:
            raise LeaseLostError(f"lease {self.name} was not renewed for {self.ttl_s:g} s")

    async def wait_lost(self) -> None:
        """Return once the lease is lost."""
        await self._lost.wait()

    async def attach(self, on_end: Message, *, row: str = "") -> Fence:
        """Let a public command delete a row when the lease ends; return the fence for its writes.

        Writes of the row with this fence are refused once the lease has ended, or another lease has
        taken the row over by attaching the same command, or one for the same `row`.
        """
        command = Command(
            type=on_end.DESCRIPTOR.full_name,
            payload=on_end.SerializeToString(deterministic=True),
        )
        new = pb.NewAttachment(lease=self.name, id=row, on_end=command)
        attached = await self._q.records(ATTACHMENT).do("Attach", new, pb.Attachment)
        return Fence(row_fence(attached.id), attached.token)

    async def put(self, key: str | bytes, value: bytes) -> None:
        """Write a pair that is deleted when the lease ends."""
        named = key.encode() if isinstance(key, str) else key
        if named not in self._attached:
            self._attached[named] = await self.attach(DeletePair(key=named))
        await self._q.kv.put(named, value, fence=self._attached[named])

    def begun(self, at: float) -> None:
        """Keep the lease from now on; its first request left at this time of `time.monotonic`."""
        self._renewed_at = at
        self._keeper = asyncio.get_running_loop().create_task(self._keep())

    async def end(self) -> None:
        """End the lease with its locks and rows; it expires later if no node can be reached."""
        if self._keeper is not None:
            self._keeper.cancel()
            with suppress(asyncio.CancelledError):
                await self._keeper
        with suppress(QuorateError):
            await self._records.delete(self.name, missing_ok=True, timeout_s=_END_S)

    def _left_s(self) -> float:
        return self._renewed_at + self.ttl_s * _PATIENCE - monotonic()

    async def _keep(self) -> None:
        while True:
            await asyncio.sleep(self._renewed_at + self.ttl_s / _RENEWALS - monotonic())
            while (left_s := self._left_s()) > 0:
                sent_at = monotonic()
                try:
                    await self._records.do(
                        "Renew",
                        pb.LeaseRenewal(name=self.name),
                        timeout_s=min(left_s, self.ttl_s / _RENEWALS),
                    )
                except RejectedError as error:
                    if error.code == "NOT_FOUND":
                        left_s = 0
                        break
                except QuorateError:
                    pass
                else:
                    self._renewed_at = sent_at
                    break
                await asyncio.sleep(_AGAIN_S)
            if left_s <= 0:
                self._lost.set()
                return


def new_name(place: str) -> str:
    """Return a new name for a lease in the shard of `place`: equal up to the first slash."""
    return f"{place.partition('/')[0]}/{token_hex(8)}"


@asynccontextmanager
async def keeping(
    q: AsyncClient, place: str, *, ttl_s: float = TTL_S, owner: str = ""
) -> AsyncIterator[RenewedLease]:
    """Create a lease, keep it, and end it."""
    lease = RenewedLease(q, new_name(place), ttl_s)
    sent_at = monotonic()
    row = pb.Lease(name=lease.name, ttl_ms=round(ttl_s * 1_000), owner=owner)
    await q.records(LEASE).create(row)
    lease.begun(sent_at)
    try:
        yield lease
    finally:
        await lease.end()
