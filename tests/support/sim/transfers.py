"""Snapshots on their way between simulated nodes: chunk by chunk, and often not to the end."""

import asyncio
from collections import deque
from random import Random
from typing import TYPE_CHECKING, Final

from quorate.shards.snapshots.snapshot_messages import (
    Chunk,
    Offer,
    SnapshotRefusedError,
    TransferError,
)

if TYPE_CHECKING:
    from tests.support.sim.process import Process, Surroundings


class Transfers:
    """The way of one process to all others; implements `SnapshotPort`."""

    def __init__(self, process: "Process", around: "Surroundings", rng: Random) -> None:
        self._process: Final = process
        self._around: Final = around
        self._rng: Final = rng

    async def open(self, offer: Offer) -> "Transfer":
        """Begin a transfer."""
        self._around.counts["snapshots sent"] += 1
        transfer = Transfer(self._process, self._around, offer, self._rng)
        await transfer.travel()
        transfer.begin()
        return transfer


class Transfer:
    """One transfer, from its sender's end; implements `Outgoing`."""

    def __init__(
        self, source: "Process", around: "Surroundings", offer: Offer, rng: Random
    ) -> None:
        self._source: Final = source
        self._around: Final = around
        self._offer: Final = offer
        self._rng: Final = rng
        faults = around.profile.faults
        cut = not around.network.quiet and rng.random() < faults.cut_snapshot
        #: Steps after which the connection is cut; the last one is the answer.
        self._steps: int = rng.choice((rng.randint(0, 3), rng.randint(0, 40))) if cut else 1 << 30
        # Runs without such faults draw nothing: their seeds stay what they are.
        late = faults.late_snapshot > 0 and rng.random() < faults.late_snapshot
        self._late_s: Final = rng.uniform(0.2, 1.0) if late else 0.0
        self._target: Process | None = None
        self._receiving: asyncio.Task[None] | None = None
        #: What was sent and not taken yet; None is the end of it.
        self._on_way: Final = deque[Chunk | None]()
        self._came: asyncio.Future[None] | None = None
        self._answer: str | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._over = False

    def begin(self) -> None:
        """Reach the receiver."""
        target = self._around.process_of(self._offer.target)
        if target is None or self._cut():
            self._around.counts["snapshots given up"] += 1
            raise TransferError("the other node is not reached")
        self._target = target
        target.connections.append(self)
        target.loop.post(0.0, self._begin_there, target)

    async def travel(self, later_s: float = 0.0) -> None:
        """Wait as long as a message takes, and so much longer."""
        over = self._source.loop.create_future()
        self._source.loop.post(later_s + self._delay(), _resolve, over)
        await over

    async def write(self, chunk: Chunk) -> None:
        """Send a part; it arrives after those that were sent before."""
        await self._step(chunk)

    async def finish(self) -> None:
        """Wait for the answer."""
        await self._step(None)
        while self._answer is None:
            if self._over:
                raise self._lost()
            self._waiter = self._source.loop.create_future()
            await self._waiter
        if self._answer:
            raise SnapshotRefusedError(self._answer)

    def cancel(self) -> None:
        """Break the connection; the receiver learns of it in a while."""
        if not self._over:
            self._over = True
            target = self._target
            if target is not None and self._answer is None:
                target.loop.post(self._rng.choice((0.0, self._delay(), 0.5)), self._broken_there)

    async def _step(self, item: Chunk | None) -> None:
        await self.travel(0.0 if item else self._late_s)
        if self._answer is not None:
            raise SnapshotRefusedError(self._answer)
        if self._over or self._cut():
            raise self._lost()
        if self._target is not None:
            self._target.loop.post(0.0, self._arrive, item)

    def _cut(self) -> bool:
        """Count a step, and return whether nothing gets through any more."""
        self._steps -= 1
        source, target = self._source.disk.peer.node, self._offer.target.node
        return self._steps <= 0 or self._around.network.is_cut(source, target)

    def _lost(self) -> TransferError:
        self._around.counts["snapshots given up"] += 1
        return TransferError("the connection broke")

    def _delay(self) -> float:
        return self._rng.uniform(*self._around.profile.delay_s)

    def reset(self) -> None:
        """Tell the sender that the receiver's process has ended."""
        self._source.loop.post(self._rng.uniform(0.0, 0.3), self._answered, None)

    # At the receiver's end, in its loop.

    def _begin_there(self, target: "Process") -> None:
        self._receiving = target.loop.create_task(self._receive(target))

    def _arrive(self, item: Chunk | None) -> None:
        self._on_way.append(item)
        if self._came is not None:
            _resolve(self._came)

    def _broken_there(self) -> None:
        if self._receiving is not None:
            self._receiving.cancel()

    async def _receive(self, target: "Process") -> None:
        try:
            reception = target.receiver.begin(self._offer)
            try:
                while True:
                    while not self._on_way:
                        self._came = target.loop.create_future()
                        await self._came
                    item = self._on_way.popleft()
                    if item is None:
                        await reception.finish()
                        self._around.counts["snapshots installed"] += 1
                        break
                    await reception.write(item)
            finally:
                reception.abandon()
        except SnapshotRefusedError as refused:
            self._tell(str(refused))
        else:
            self._tell("")

    def _tell(self, answer: str) -> None:
        if self._cut():
            # All of it came, and the sender does not hear of it.
            self._source.loop.post(self._rng.uniform(0.05, 1.0), self._answered, None)
        else:
            self._source.loop.post(self._delay(), self._answered, answer)

    def _answered(self, answer: str | None) -> None:
        if answer is None:
            self._over = True
        else:
            self._answer = answer
        if self._waiter is not None:
            _resolve(self._waiter)


def _resolve(waited: asyncio.Future[None]) -> None:
    if not waited.done():
        waited.set_result(None)
