"""A node of a cluster whose shards are split: all of a real one but its RPCs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any, Final, TypeVar
from zlib import crc32

from google.protobuf.message import Message
from quorate.apply.entries import LoggedCommand
from quorate.config.sections import LimitsSection
from quorate.consensus.journal import JournalDamagedError
from quorate.consensus.membership import Configuration
from quorate.consensus.messages import Message as PeerMessage
from quorate.consensus.refusals import ReplicaStoppedError
from quorate.control.timers import Timers
from quorate.plugin import ShardRef
from quorate.plugin.shard_id import ShardId
from quorate.shards.refusals import NotProposedError, OutcomeUnknownError, UnreadableError
from quorate.shards.router import Router
from quorate.shards.routing.forwarding import ForwardedAnswers, ForwardedQuery
from quorate.shards.routing.proposing import Result
from quorate.shards.shard.context import ShardHooks
from quorate.shards.shard.log_keeper import TailJournal
from quorate.shards.shard.shard import Shard
from quorate.shards.watching.feeds import Feed, Lost, Page, Selection, Start
from quorate.shards.watching.watches import Watches
from quorate.storage.data.home import Home, MemoryHome
from quorate.storage.data.shard_data import ShardData
from quorate.storage.engine.port import EngineError
from quorate.topology.commands.routes import ROUTES
from quorate.topology.replicas.declaration import declaration_of
from quorate.topology.replicas.node_shards import NodeShards
from quorate.topology.reshaping import Reshaping

from tests.support.sim import facts
from tests.support.sim.data import LivingHome, ObservedData
from tests.support.sim.disk import Disk
from tests.support.sim.hosted import Hosted
from tests.support.sim.journal import ObservedJournal
from tests.support.sim.loop import Clock
from tests.support.sim.process import CLUSTER, Process

if TYPE_CHECKING:
    from tests.support.sim.splits.cluster import SplitCluster

T = TypeVar("T")

_SOON_S: Final = 0.5
_TIMEOUT_S: Final = 3.0
#: When a node gives up one that does not answer.
_PATIENCE_S: Final = 1.0
_LOOK_S: Final = 0.1


class _Unreached(Exception):
    """The other node was never asked."""


class _Unanswered(Exception):
    """The other node was asked, and nothing more is known."""


class _Home(LivingHome):
    """Knows the data that was opened in it."""

    data: ObservedData | None = None


class HomedData(ObservedData):
    """Told to its home, so that its log can be observed, too."""

    def __init__(self, home: _Home, *opened: Any) -> None:
        super().__init__(home, *opened)
        home.data = self


class SplitProcess(Process):
    """One life of a node, from its shards to what clients call."""

    def __init__(
        self, around: SplitCluster, disk: Disk, clock: Clock, life: str, rng: Random
    ) -> None:
        super().__init__(around, disk, clock, life, rng)
        self._cluster: Final = around
        self._homes: Final[dict[str, _Home]] = {}
        configured = {around.hosting.group: around.profile.shards}
        self.shards: Final = NodeShards(
            declaration_of(disk.peer, "", around.hosting.catalog, configured=configured),
            around.hosting.catalog,
            self,
            self._home,
            configured=configured,
            notes=disk.notes,
            # Every other life begins with what is asked for.
            at_once=64 * (crc32(life.encode()) % 2),
            loop=self.loop,
            failed=self._failed,
        )
        self.groups: Final = Router(
            disk.peer.node,
            around.hosting.catalog,
            self.shards,
            _Ways(self, around),
            loop=self.loop,
            limits=LimitsSection(),
            write_timeout_s=_TIMEOUT_S,
            read_timeout_s=_TIMEOUT_S,
            control=ROUTES,
        )
        self.splitting: Final = Reshaping(self.shards, self.groups)
        self.watches = Watches(
            CLUSTER,
            self.shards.get,
            partial(_AwaitedFeed, self),
            moved=self.shards.has_left,
            offshoots=self.shards.offshoots,
            heir=self.shards.heir,
            loop=self.loop,
            settings=around.profile.watch_settings(),
            timeout_s=_TIMEOUT_S,
        )
        self._timers: Final = Timers(
            around.hosting.catalog.timers.values(),
            self.shards.leading,
            self._propose_fenced,
            loop=self.loop,
        )
        #: Whether it takes calls.
        self.serves = False

    # For `NodeShards`.

    def journal(self, shard: str, applied: int = 0) -> ObservedJournal:
        """Open a shard's part of the node's log."""
        data = self._homes[shard].data
        assert data is not None
        return self.open_journal(shard, data, applied)

    def holds(self, shard: str) -> bool:
        """Whether a shard's part of the node's log was durable once."""
        return self._log.holds(shard)

    def remove(self, shard: str) -> None:
        """Remove a shard's part of the node's log."""
        self.hosted.pop(shard, None)
        self._journals[:] = [each for each in self._journals if each.shard != shard]
        self._log.remove(shard)

    def _home(self, shard: ShardId, _: int) -> Home:
        name = str(shard)
        if name not in self._homes:
            kept = self.disk.homes.setdefault(name, MemoryHome())
            self._homes[name] = _Home(kept, self.has_ended)
        return self._homes[name]

    def hooks(self, hosted: Hosted) -> ShardHooks:
        """Return the calls of a replica to this process."""
        return replace(
            super().hooks(hosted),
            led=self.shards.leaders_changed,
            fork=self.shards.fork,
            rows_of=self.shards.rows_of,
        )

    def _new_shard(self, shard: ShardId, _: int, data: ShardData, journal: TailJournal) -> Shard:
        assert isinstance(data, ObservedData)
        hosted = self.hosted[str(shard)] = Hosted(self, str(shard), data, journal)
        self._cluster.opened(hosted)
        return hosted.shard

    # Life.

    def _open(self) -> None:
        first = self.disk.first_entry
        self.shards.on_close(self._drop)
        self.shards.on_map(self.watches.grow)
        self.shards.on_map(partial(self._cluster.mapped, self))
        try:
            self.shards.open(
                None if first is None else Configuration.decode(first),
                self.groups.propose_control,
                self._new_shard,
            )
        except (JournalDamagedError, ReplicaStoppedError, EngineError) as error:
            self.around.tell(facts.Stopped("metadata/0", self.disk.peer, error))
            return
        self.loop.post(_SOON_S, self.shards.unopened.open_all)
        self._timers.start()
        self.serves = True

    def _receive_for(self, shard: str, message: PeerMessage) -> None:
        self.shards.unopened.keep(shard, message)

    def _drop(self, shard: Shard) -> None:
        self.hosted.pop(str(shard.id), None)

    async def _propose_fenced(self, command: Message, fence: ShardRef) -> None:
        await self.groups.propose(command, if_leader=fence)

    def _observe(self) -> None:
        super()._observe()
        for shard, error in self.shards.broken.items():
            self.around.tell(facts.Stopped(str(shard), self.disk.peer, error))


class _Ways:
    """The way of one node to all others; implements `Forwarder`."""

    def __init__(self, process: SplitProcess, cluster: SplitCluster) -> None:
        self._process: Final = process
        self._cluster: Final = cluster
        self._rng: Final = cluster.world.rng(f"ways/{process.life}")

    async def propose(
        self,
        node: str,
        shard: ShardId,
        commands: Sequence[LoggedCommand],
        deadlines: Sequence[float],
    ) -> Sequence[Result]:
        """Have another node propose."""
        now = self._process.loop.time()

        def accept(other: SplitProcess) -> Awaitable[Sequence[Result]]:
            apart_s = other.loop.time() - now
            there = [deadline + apart_s for deadline in deadlines]
            return other.groups.accept(shard, commands, there)

        failure: Exception
        try:
            return await self._ask(node, accept)
        except _Unreached:
            failure = NotProposedError(f"{node} is not reached")
        except _Unanswered:
            failure = OutcomeUnknownError(f"{node} does not answer")
        return [failure] * len(commands)

    async def query(self, node: str, request: ForwardedQuery) -> ForwardedAnswers:
        """Have another node answer."""
        try:
            return await self._ask(node, lambda other: other.groups.reads.accept(request))
        except (_Unreached, _Unanswered) as error:
            raise UnreadableError(f"{node}: {error!r}") from None

    async def _ask(self, node: str, act: Callable[[SplitProcess], Awaitable[T]]) -> T:
        me, world, loop = self._process.disk.peer.node, self._cluster.world, self._process.loop
        answer: asyncio.Future[T] = loop.create_future()
        loop.call_later(_PATIENCE_S, _fail, answer, _Unanswered())
        if self._cluster.network.is_cut(me, node):
            raise _Unreached

        def arrive() -> None:
            other = self._cluster.nodes[node].process
            if self._cluster.network.is_cut(me, node) or not isinstance(other, SplitProcess):
                return
            if other.serves:
                other.loop.run(begin, other)
            else:
                loop.post(self._delay(), _fail, answer, _Unreached())

        def begin(other: SplitProcess) -> None:
            task = other.loop.create_task(_awaited(act(other)))
            task.add_done_callback(reply)

        def reply(done: asyncio.Task[T]) -> None:
            if done.cancelled() or self._cluster.network.is_cut(node, me):
                return
            error = done.exception()
            if error is not None:
                loop.post(self._delay(), _fail, answer, error)
            else:
                loop.post(self._delay(), _fulfil, answer, done.result())

        world.at(self._delay(), arrive)
        return await answer

    def _delay(self) -> float:
        return self._rng.uniform(*self._cluster.profile.delay_s)


class _AwaitedFeed:
    """The feed of a shard whose replica here is still to come, as that of another node would be."""

    def __init__(
        self,
        process: SplitProcess,
        shard: ShardId,
        selection: Selection,
        start: Start | None,
        not_before: int,
        wake: Callable[[], None],
    ) -> None:
        self._process: Final = process
        self._where: Final = shard, selection, start, not_before, wake
        self._wake: Final = wake
        self._feed: Feed | None = None
        self._closed = False
        self._look()

    @property
    def generation(self) -> int:
        """The generation of the shard."""
        return 0 if self._feed is None else self._feed.generation

    def take(self) -> Page | Lost | None:
        """Return the next page, if any."""
        return None if self._feed is None else self._feed.take()

    def age_ms(self) -> int | None:
        """Return how old it is."""
        return None if self._feed is None else self._feed.age_ms()

    def close(self) -> None:
        """Stop."""
        self._closed = True
        if self._feed is not None:
            self._feed.close()

    def _look(self) -> None:
        if self._closed:
            return
        try:
            self._feed = self._process.watches.feed_here(*self._where)
        except UnreadableError:
            self._process.loop.call_later(_LOOK_S, self._look)
        else:
            self._wake()


async def _awaited(what: Awaitable[T]) -> T:
    return await what


def _fulfil(answer: asyncio.Future[Any], result: object) -> None:
    if not answer.done():
        answer.set_result(result)


def _fail(answer: asyncio.Future[Any], error: BaseException) -> None:
    if not answer.done():
        answer.set_exception(error)
