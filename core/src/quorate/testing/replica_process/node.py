"""The node of one process: log, replica, driver, syncs and streams, put together."""

import asyncio
import os
import random
from collections.abc import Sequence
from functools import partial
from itertools import count
from typing import Final

import grpc.aio

from quorate.consensus.driver import Driver
from quorate.consensus.formation import Introduction, cluster_id
from quorate.consensus.log import Stored
from quorate.consensus.membership import Configuration
from quorate.consensus.messages import AppendReply, Entry, Message, Peer
from quorate.consensus.peer.network import PeerNetwork
from quorate.consensus.peer.streams import StreamLimits, server_options
from quorate.consensus.proposals import Fate, Proposals
from quorate.consensus.reads import ReadOutcome
from quorate.consensus.replica import Replica
from quorate.consensus.status import Proposed
from quorate.storage.engine.rocks import RocksEngine
from quorate.storage.log.node_log import FAMILY, NodeLog
from quorate.storage.log.sync_loop import SyncLoop
from quorate.storage.log.witness import FileWitnesses
from quorate.testing.replica_process.forming import Forming
from quorate.testing.replica_process.home import replica_id
from quorate.testing.replica_process.register import Register
from quorate.testing.replica_process.settings import Settings

SHARD: Final = "metadata/0"


class NotFormedError(Exception):
    """The node has no replica yet."""


class _UnsyncedEngine(RocksEngine):
    """Promises what it does not keep: what the disk costs shows, and whether a test sees it."""

    def flush_wal(self) -> None:
        """Do nothing."""


class Node:
    """Hosts one replica; its log is the only thing on disk, and is replayed at the start."""

    def __init__(self, settings: Settings) -> None:
        self._settings: Final = settings
        self._loop: Final = asyncio.get_running_loop()
        self._me: Final = Peer(settings.node, replica_id(settings.directory))
        self._marks: Final = os.open(os.devnull, os.O_WRONLY) if settings.marks else None
        engine_type = RocksEngine if settings.fsync else _UnsyncedEngine
        self._log: Final = NodeLog(
            engine_type(settings.directory / "log", [FAMILY]),
            FileWitnesses(settings.directory / "witness"),
        )
        self._journal: Final = self._log.journal(SHARD)
        held = self._journal.read(1, 1, 1)[0].payload if self._journal.last.index else b""
        self._forming: Final = Forming(self._me, settings.initial_members, held)
        self._syncs: Final = SyncLoop(self._log, self._loop, self._synced, self.stopped)
        self._driver: Driver | None = None
        self._proposals: Final = Proposals()
        self._read_tokens: Final = count(1)
        self._reads: Final[dict[int, asyncio.Future[int | None]]] = {}
        self._behind: Final[list[tuple[int, asyncio.Future[int | None]]]] = []
        self._ended: Final[asyncio.Future[None]] = self._loop.create_future()
        self.register: Final = Register()
        self.network: Final = PeerNetwork(
            self._me,
            settings.token,
            deliver=self._deliver,
            remade=self._remade,
            admit=self._admits,
            config_index=self._config_index,
            introduced=self._introduced,
            rng=random.Random(),
        )

    @property
    def replica(self) -> Replica:
        """The replica, once the node is formed."""
        return self._running.replica

    # Life.

    def server(self) -> grpc.aio.Server:
        """Return a server of this node's address with the streams on it, not started."""
        server = grpc.aio.server(options=server_options(StreamLimits()))
        server.add_insecure_port(self._settings.addresses[self._settings.node])
        self.network.add_to_server(server)
        return server

    async def start(self) -> None:
        """Form or join the cluster, and take part in it; raises `FormationRefusedError`."""
        self.network.know(self._settings.addresses)
        first_entry = self._forming.introduction.first_entry
        if not first_entry:
            first_entry = await self._forming.first_entry(
                self.network.introduce, self._settings.addresses
            )
        replica = Replica(
            self._me,
            self._journal,
            applied=0,
            stored=Stored(0, None),
            clock=self._loop.time,
            rng=random.Random(),
            timing=self._settings.timing,
        )
        if self._settings.initial_members and not self._journal.last.index:
            replica.bootstrap(Configuration.decode(first_entry))
            sequence = self._log.begin_sync()
            await self._loop.run_in_executor(None, self._log.sync)
            self._log.synced(sequence)
            replica.synced(sequence)
        self._driver = Driver(replica, self, self._loop)
        self.network.join(cluster_id(self._settings.token, first_entry))
        self._driver.wake()

    async def ended(self) -> None:
        """Wait until the node cannot go on; raises what stopped it."""
        await self._ended

    async def stop(self) -> None:
        """Let go of everything."""
        if self._driver is not None:
            self._driver.stop()
        self._proposals.abandon()
        await self.network.stop()
        await self._syncs.close()
        self._log.close()

    # What clients ask.

    def propose(self, payload: bytes) -> "asyncio.Future[tuple[Fate, Proposed]]":
        """Propose a command; raises what the replica refuses with."""
        return self._await_fate(self.replica.propose(payload), payload[:32])

    def change_membership(
        self, configuration: Configuration
    ) -> "asyncio.Future[tuple[Fate, Proposed]]":
        """Propose a configuration; raises what the replica refuses with."""
        return self._await_fate(self.replica.change_membership(configuration), b"membership")

    def transfer(self, node: str) -> None:
        """Hand leadership over; raises what the replica refuses with."""
        self.replica.transfer(node)
        self._running.wake()

    async def read(self) -> int | None:
        """Return an index that is safe to read at, once it is applied here; None: ask again."""
        token = next(self._read_tokens)
        read: asyncio.Future[int | None] = self._loop.create_future()
        self._reads[token] = read
        self._running.call(partial(self.replica.read_index, token))
        return await read

    def _await_fate(
        self, proposed: Proposed, name: bytes
    ) -> "asyncio.Future[tuple[Fate, Proposed]]":
        fate: asyncio.Future[tuple[Fate, Proposed]] = self._loop.create_future()

        def settle(outcome: Fate, _: object) -> None:
            if fate.cancelled():
                return
            if outcome is Fate.APPLIED:
                self._mark("proposal", name)
            fate.set_result((outcome, proposed))

        self._proposals.add(proposed, settle)
        self._running.wake()
        return fate

    # What the streams ask.

    @property
    def _running(self) -> Driver:
        if self._driver is None:
            raise NotFormedError("this node has no cluster yet; start the other initial members")
        return self._driver

    def _deliver(self, shard: str, message: Message) -> bool:
        if shard != SHARD or self._driver is None:
            return False
        self._driver.call(partial(self._driver.replica.receive, message))
        return True

    def _remade(self, node: str) -> None:
        self._running.call(partial(self.replica.bulk_remade, node))

    def _admits(self, peer: Peer, config_index: int) -> bool:
        log = self.replica.log
        if log.configuration is None or config_index > log.configuration_index:
            return True
        return log.known(peer, self.replica.commit)

    def _config_index(self) -> int:
        return self._driver.replica.log.configuration_index if self._driver else 0

    def _introduced(self, other: Introduction) -> Introduction:
        return self._forming.heard(other)

    # What the driver asks.

    def send(self, messages: Sequence[Message]) -> None:
        """Put messages on their way."""
        for message in messages if self._marks is not None else ():
            if isinstance(message.body, AppendReply) and message.body.success:
                self._mark("entry", str(message.body.match).encode())
        self.network.send(SHARD, messages)

    def sync(self) -> None:
        """Sync the log."""
        self._syncs.request()

    def apply(self, entries: Sequence[Entry]) -> None:
        """Apply entries, and answer who waits for them."""
        self.register.apply(entries)
        for entry in entries:
            self._proposals.applied(entry.index, entry.term, None)
        behind = [waiting for waiting in self._behind if waiting[0] > self.register.index]
        for index, read in self._behind:
            if index <= self.register.index and not read.done():
                read.set_result(index)
        self._behind[:] = behind

    def reads(self, outcomes: Sequence[ReadOutcome]) -> None:
        """Answer reads whose index is applied; the others wait for it."""
        for outcome in outcomes:
            read = self._reads.pop(outcome.token)
            if outcome.index is not None and outcome.index > self.register.index:
                self._behind.append((outcome.index, read))
            elif not read.done():
                read.set_result(outcome.index)

    def snapshots_needed(self, peers: Sequence[Peer]) -> None:
        """Fail: this node keeps its whole log."""
        raise RuntimeError(f"{peers} need a snapshot of a log that was never cut")

    def stopped(self, error: Exception) -> None:
        """End the process."""
        if not self._ended.done():
            self._ended.set_exception(error)

    def _synced(self, sequence: int) -> None:
        if self._driver is not None:
            self._driver.call(partial(self._driver.replica.synced, sequence))

    def _mark(self, what: str, name: bytes) -> None:
        """Make a system call that strace shows: what comes after it leaves after it."""
        if self._marks is not None:
            os.write(self._marks, b"acknowledged %s %s" % (what.encode(), name))
