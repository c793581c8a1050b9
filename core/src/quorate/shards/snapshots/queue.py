"""Sends snapshots of shards to replicas that lag too far, and receives them from others."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, TypeVar

from quorate.consensus.membership import Configuration
from quorate.consensus.messages import Peer
from quorate.observe.failpoints import failpoint
from quorate.plugin.shard_id import ShardId
from quorate.shards.shard.log_keeper import LogHold
from quorate.shards.shard.shard import Shard
from quorate.shards.snapshots.snapshot_messages import (
    Chunk,
    Offer,
    ReceiverBusyError,
    SnapshotPort,
    SnapshotRefusedError,
    TransferError,
)
from quorate.shards.timing import end, pause
from quorate.storage.data.checkpoint import Checkpoint, Incoming, Manifest
from quorate.storage.engine.port import EngineError

_log = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotSettings:
    """Settings for the snapshots of a node."""

    #: Maximum rate of a node, over all its shards; it sends one snapshot at a time.
    bytes_per_s: float = 64 << 20
    chunk_bytes: int = 256 << 10
    #: A transfer without progress for this time has failed.
    stall_s: float = 30.0
    #: How long a receiver may take to verify and install.
    install_s: float = 600.0
    #: The pause after a first failed transfer, and the longest one: it doubles.
    retry_min_s: float = 0.5
    retry_max_s: float = 30.0
    #: How often to check whether a follower has caught up with its snapshot.
    look_s: float = 0.05


class _SilentError(TransferError):
    """There is no contact with the receiver, so no snapshot is made for it yet."""


class SnapshotQueue:
    """Sends snapshots of all shards of a node, one after the other.

    The log above a snapshot is kept until its receiver has caught up; the next snapshot does not
    wait for that. A failed transfer is removed after a pause: the shard then requests it again, if
    still needed.
    """

    def __init__(
        self,
        port: SnapshotPort,
        *,
        loop: asyncio.AbstractEventLoop,
        settings: SnapshotSettings | None = None,
    ) -> None:
        self._port: Final = port
        self._loop: Final = loop
        self._settings: Final = settings or SnapshotSettings()
        #: Transfers that wait, are in progress, or failed and pause.
        self._asked: Final[set[tuple[ShardId, Peer]]] = set()
        self._failures: Final = Counter[tuple[ShardId, Peer]]()
        self._timers: Final[set[asyncio.TimerHandle]] = set()
        #: Held by the current transfer.
        self._turn: Final = asyncio.Lock()
        #: A task for each transfer, until its receiver has caught up.
        self._tasks: Final[set[asyncio.Task[None]]] = set()
        self._stopped = False
        #: When the next chunk may be sent.
        self._next_at = 0.0
        self.sent_bytes = 0
        self.installed = 0

    def needed(self, shard: Shard, peers: Sequence[Peer]) -> None:
        """Start sending; a failed transfer calls `Shard.snapshot_given_up`."""
        for peer in peers:
            if (shard.id, peer) not in self._asked and not self._stopped:
                self._asked.add((shard.id, peer))
                task = self._loop.create_task(self._serve(shard, peer))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    async def stop(self) -> None:
        """Cancel all transfers, and start no more."""
        self._stopped = True
        for timer in self._timers:
            timer.cancel()
        await end(*self._tasks)

    async def _serve(self, shard: Shard, peer: Peer) -> None:
        try:
            async with self._turn:
                hold = await self._send(shard, peer)
        except (TransferError, EngineError, OSError, TimeoutError) as error:
            self._failed(shard, peer, error)
        except (Exception, asyncio.CancelledError) as error:
            if self._stopped:
                raise
            # A bug, or an inner call that was cancelled.
            _log.exception("sending a snapshot of shard %s failed", shard.id)
            self._failed(shard, peer, error)
        else:
            await self._see_through(shard, peer, hold)

    def _failed(self, shard: Shard, peer: Peer, error: BaseException) -> None:
        if self._stopped:
            return
        settings = self._settings
        if isinstance(error, _SilentError):
            # Retry as soon as it is in contact again.
            del self._failures[shard.id, peer]
            self._give_up_in(settings.retry_min_s, shard, peer)
            return
        self._failures[shard.id, peer] += 1
        doubled = settings.retry_min_s * 2 ** min(self._failures[shard.id, peer] - 1, 16)
        delay_s = min(doubled, settings.retry_max_s)
        if isinstance(error, ReceiverBusyError):
            level, sentence = logging.INFO, "a snapshot of shard %s for %s waits: %s; retry"
        else:
            level, sentence = logging.WARNING, "a snapshot of shard %s did not reach %s: %s; retry"
        reason = str(error) or type(error).__name__
        _log.log(level, f"{sentence} in %.1f s", shard.id, peer.node, reason, delay_s)
        self._give_up_in(delay_s, shard, peer)

    def _give_up_in(self, delay_s: float, shard: Shard, peer: Peer) -> None:
        def give_up() -> None:
            self._timers.discard(timer)
            self._asked.discard((shard.id, peer))
            shard.snapshot_given_up(peer.node)

        timer = self._loop.call_later(delay_s, give_up)
        self._timers.add(timer)

    # One transfer.

    async def _send(self, shard: Shard, peer: Peer) -> LogHold:
        if not shard.leads:
            raise TransferError(f"this node no longer leads shard {shard.id}")
        _demand_heard(shard, peer)
        # A checkpoint links flushed data; it would write the rest, on the loop.
        await self._beside(shard.data.flush)
        failpoint("snapshot.flushed")
        hold = shard.hold_log(shard.data.applied)
        try:
            checkpoint = shard.data.checkpoint()
            failpoint("snapshot.checkpointed")
            try:
                manifest = await self._beside(checkpoint.manifest)
                await self._transfer(shard, peer, checkpoint, manifest)
            finally:
                await self._beside(checkpoint.release)
        except BaseException:
            hold.release()
            raise
        self.installed += 1
        del self._failures[shard.id, peer]
        return hold

    async def _see_through(self, shard: Shard, peer: Peer, hold: LogHold) -> None:
        """Keep the log until a receiver has caught up, and let it ask again if it has not."""
        try:
            await self._caught_up(shard, peer, lambda: hold.broken)
        except Exception:  # noqa: BLE001 - a bug, or a cancelled call: others continue
            _log.exception("following a snapshot of shard %s failed", shard.id)
        finally:
            hold.release()
            self._asked.discard((shard.id, peer))
        # Requests made meanwhile were ignored as duplicates.
        shard.snapshot_given_up(peer.node)

    async def _transfer(
        self, shard: Shard, peer: Peer, checkpoint: Checkpoint, manifest: Manifest
    ) -> None:
        membership = shard.membership
        config_index = 0 if membership is None else membership.index
        offer = Offer(shard.id, shard.me, peer, config_index, manifest, shard.epoch)
        settings = self._settings
        async with asyncio.timeout(settings.stall_s):
            outgoing = await self._port.open(offer)
        try:
            for number, file in enumerate(manifest.files):
                for offset in range(0, file.size, settings.chunk_bytes):
                    size = min(settings.chunk_bytes, file.size - offset)
                    content = await self._beside(partial(checkpoint.read, file.name, offset, size))
                    await self._pace(size)
                    async with asyncio.timeout(settings.stall_s):
                        chunk = Chunk(file=number, offset=offset, content=content)
                        await outgoing.write(chunk)
                    self.sent_bytes += size
                    failpoint("snapshot.part_sent")
            failpoint("snapshot.sent")
            async with asyncio.timeout(settings.install_s):
                await outgoing.finish()
        finally:
            outgoing.cancel()

    async def _pace(self, size: int) -> None:
        now = self._loop.time()
        begins = max(now, self._next_at)
        self._next_at = begins + size / self._settings.bytes_per_s
        await pause(self._loop, begins - now)

    async def _caught_up(self, shard: Shard, peer: Peer, given_up: Callable[[], bool]) -> None:
        """Wait until a follower holds the log of the moment when its snapshot was installed.

        The log is kept until then: otherwise it might be cut before the entries after the snapshot
        were sent, and another snapshot would be needed.
        """
        goal = shard.status().replica.last
        match, moved_at = -1, self._loop.time()
        while shard.leads and not given_up():
            followers = shard.status().replica.followers
            now_at = next((each.match for each in followers if each.peer == peer), goal)
            if now_at >= goal:
                return
            if now_at > match:
                match, moved_at = now_at, self._loop.time()
            elif self._loop.time() > moved_at + self._settings.stall_s:
                return
            await pause(self._loop, self._settings.look_s)

    async def _beside(self, work: Callable[[], T]) -> T:
        return await self._loop.run_in_executor(None, work)


class SnapshotReceiver:
    """Receives snapshots for the shards of a node, one at a time."""

    def __init__(
        self,
        shard: Callable[[ShardId], Shard | None],
        *,
        loop: asyncio.AbstractEventLoop,
        settings: SnapshotSettings | None = None,
    ) -> None:
        self._shard: Final = shard
        self._loop: Final = loop
        self._settings: Final = settings or SnapshotSettings()
        self._current: ShardReception | None = None

    def begin(self, offer: Offer) -> "ShardReception":
        """Prepare to receive a snapshot; raises `SnapshotRefusedError`."""
        shard = self._shard(offer.shard)
        if shard is None or shard.stopped is not None:
            raise SnapshotRefusedError(f"shard {offer.shard} is not served by this node")
        _demand_welcome(shard, offer)
        _demand_room(shard)
        current = self._current
        if current is not None and not current.ended:
            stalled = self._loop.time() > current.moved_at + self._settings.stall_s
            if current.installing or (current.shard.id != offer.shard and not stalled):
                raise ReceiverBusyError(f"it is receiving one of shard {current.shard.id}")
            # A sender that starts again has abandoned its earlier transfer.
            current.abandon()
        failpoint("snapshot.offered")
        try:
            incoming = shard.data.incoming(offer.manifest)
        except (EngineError, OSError) as error:
            raise _unusable(error) from None
        self._current = ShardReception(shard, offer, incoming, self._loop)
        return self._current


@dataclass(eq=False)
class ShardReception:
    """A snapshot that a shard receives."""

    shard: Shard
    _offer: Offer
    _incoming: Incoming
    _loop: asyncio.AbstractEventLoop
    installing: bool = field(default=False, init=False)
    ended: bool = field(default=False, init=False)
    _busy: asyncio.Future[None] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        #: When the last part arrived.
        self.moved_at = self._loop.time()

    async def write(self, chunk: Chunk) -> None:
        """Write the next part; raises `SnapshotRefusedError`."""
        files = self._offer.manifest.files
        if self.ended or chunk.file >= len(files):
            raise SnapshotRefusedError("the transfer has ended here, or has no such file")
        _demand_room(self.shard)
        name = files[chunk.file].name
        await self._beside(lambda: self._incoming.write(name, chunk.offset, chunk.content))
        self.moved_at = self._loop.time()
        failpoint("snapshot.part_received")

    async def finish(self) -> None:
        """Verify and install the received snapshot, and return once data and log are durable.

        Raises `SnapshotRefusedError`.
        """
        if self.ended:
            raise SnapshotRefusedError("the transfer has ended here")
        failpoint("snapshot.received")
        self.installing = True
        try:
            await self._beside(self._incoming.finish)
            failpoint("snapshot.verified")
            self._install()
        finally:
            self.installing = False
        failpoint("snapshot.installed")
        await self.shard.log_durable()
        failpoint("snapshot.durable")

    def abandon(self) -> None:
        """Discard the received parts, unless they were installed; may be called again."""
        if self.ended:
            return
        self.ended = True
        if self._busy is None:
            self._discard()
        else:
            # A thread is using its files.
            self._busy.add_done_callback(lambda _: self._discard())

    def _install(self) -> None:
        """Check again, and swap the databases, in one turn of the loop."""
        shard, record = self.shard, self._offer.manifest.record
        if self.ended or shard.stopped is not None:
            raise SnapshotRefusedError(f"this node no longer serves shard {shard.id}")
        _demand_welcome(shard, self._offer)
        configuration = Configuration.decode(record.configuration)
        taken = shard.replace_data(
            lambda data: data.install(self._incoming), record.position, configuration
        )
        if shard.stopped is not None:
            raise _unusable(shard.stopped)
        if not taken:
            raise _not_ahead(shard, self._offer)

    async def _beside(self, work: Callable[[], None]) -> None:
        busy = self._busy = self._loop.run_in_executor(None, work)
        # If the transfer is cancelled, the thread continues, and its result may never be read.
        busy.add_done_callback(lambda done: done.cancelled() or done.exception())
        try:
            await asyncio.shield(busy)
        except (EngineError, OSError) as error:
            raise _unusable(error) from None
        finally:
            if busy.done():
                self._busy = None

    def _discard(self) -> None:
        self._loop.run_in_executor(None, self._incoming.discard)


def _demand_heard(shard: Shard, peer: Peer) -> None:
    within_s = shard.settings.timing.quorum_window_s
    for follower in shard.status().replica.followers:
        if follower.peer == peer and follower.silent_s <= within_s:
            return
    raise _SilentError(f"no contact with {peer.node}")


def _demand_welcome(shard: Shard, offer: Offer) -> None:
    """Raise `SnapshotRefusedError` unless a member sends a newer snapshot to this replica.

    As with messages, the membership of a sender with a later configuration than ours is
    not checked, and a learner without a configuration checks none.
    """
    if offer.target != shard.me:
        raise SnapshotRefusedError("it is addressed to another replica")
    if offer.epoch != shard.epoch:
        raise SnapshotRefusedError("it is of another history of the shard, which was recovered")
    membership = shard.membership
    if (
        membership is not None
        and offer.source not in membership.configuration.peers
        and offer.config_index <= membership.index
    ):
        raise SnapshotRefusedError("its sender is not a member of the shard")
    try:
        Configuration.decode(offer.manifest.record.configuration)
    except ValueError as error:
        raise SnapshotRefusedError(f"its configuration cannot be read: {error}") from None
    if offer.manifest.record.position.index <= shard.status().replica.commit:
        raise _not_ahead(shard, offer)


def _demand_room(shard: Shard) -> None:
    """Raise `SnapshotRefusedError` if it would use space that must stay free for the log."""
    shortage = shard.shortage
    if shortage is not None:
        raise SnapshotRefusedError(f"there is not enough space for it: {shortage}")


def _not_ahead(shard: Shard, offer: Offer) -> SnapshotRefusedError:
    commit = shard.status().replica.commit
    index = offer.manifest.record.position.index
    return SnapshotRefusedError(f"its index is {index}, and {commit} is already committed here")


def _unusable(error: Exception) -> SnapshotRefusedError:
    return SnapshotRefusedError(f"it cannot be installed: {error}")
