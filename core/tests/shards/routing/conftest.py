from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple, TypeVar, cast

import pytest
from quorate.apply.entries import Copies, LoggedCommand, revision_of
from quorate.apply.levels import CORE_LEVEL
from quorate.apply.outcomes import Outcome
from quorate.config.sections import LimitsSection
from quorate.consensus.messages import Peer
from quorate.plugin import Invalid, Reader
from quorate.plugin.access import Authority
from quorate.plugin.catalog import Catalog, assemble
from quorate.plugin.declared import declare
from quorate.plugin.discovery import Plugin
from quorate.plugin.shard_id import ShardId
from quorate.plugin.slots import even_cut
from quorate.shards.refusals import ExhaustedError, FencedError, NoLeaderError
from quorate.shards.router import Router
from quorate.shards.routing.forwarding import ForwardedAnswers, ForwardedQuery
from quorate.shards.routing.proposing import Result
from quorate.shards.routing.slot_map import SlotMap
from quorate.shards.shard.shard import Shard
from quorate.topology.commands.routes import ROUTES
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.control_pb2 import ShardMember, ShardRow

from tests.support.sim.loop import Clock, VirtualLoop
from tests.support.sim.world import World

T = TypeVar("T")


class Age(NamedTuple):
    revision: int
    age_ms: int


class FakeShard:
    """A replica that leads or not, and answers what it is told to."""

    def __init__(self, id: ShardId, loop: VirtualLoop) -> None:
        self.id = id
        self.leads = True
        self.term = 1
        self.leader: Peer | None = None
        self.revision = 0
        self.age_ms = 40
        self.leaderless_from = float("inf")
        self.proposed: list[LoggedCommand] = []
        #: How many commands came at once, and their timeout.
        self.calls: list[tuple[int, float]] = []
        #: How many it has room for.
        self.room: int | None = None
        #: How many it takes in one entry.
        self.most: int | None = None
        #: Set: answers are kept in it until they are called.
        self.held: list[Callable[[], None]] | None = None
        #: What the next commands come to, before `answer` does again.
        self.next: list[Outcome | Exception] = []
        self.answer: Callable[[LoggedCommand], Outcome] = lambda _: Outcome(revision_of(1, 0))
        self.barriers = 0
        self.patient: bool | None = None
        self.barrier_error: Exception | None = None
        self.waited: list[int] = []
        self.published = 0
        #: What the next reads find published.
        self.publishing: list[int] = []
        self.rows: Iterable[Any] = []
        self.reads: frozenset[str] = frozenset()
        self._loop = loop

    def propose(
        self,
        commands: Sequence[LoggedCommand],
        *,
        term: int | None = None,
        timeout_s: float | None = None,
    ) -> asyncio.Future[tuple[Outcome, ...]]:
        if not self.leads:
            raise NoLeaderError(self.id, self.leader)
        if term is not None and term != self.term:
            raise FencedError(self.id, term=self.term, made_in=term)
        if self.room is not None and len(commands) > self.room:
            raise ExhaustedError("the queue is full", 5)
        if self.most is not None and len(commands) > self.most:
            raise Invalid("commands", "send less at once")
        if self.room is not None:
            self.room -= len(commands)
        self.proposed.extend(commands)
        self.calls.append((len(commands), timeout_s or 0.0))
        future: asyncio.Future[tuple[Outcome, ...]] = self._loop.create_future()
        results = [self.next.pop(0) if self.next else self.answer(each) for each in commands]
        errors = [each for each in results if isinstance(each, Exception)]

        def end() -> None:
            if future.done():
                return
            if errors:
                future.set_exception(errors[0])
            else:
                future.set_result(tuple(each for each in results if isinstance(each, Outcome)))

        if self.held is None:
            end()
        else:
            self.held.append(end)
        return future

    def read_barrier(
        self, timeout_s: float | None = None, *, patient: bool = True
    ) -> asyncio.Future[int]:
        self.patient = patient
        self.barriers += 1
        return self._done(self.barrier_error)

    def wait_for(self, revision: int, timeout_s: float | None = None) -> asyncio.Future[int]:
        self.waited.append(revision)
        return self._done(None)

    @property
    def is_publishing(self) -> bool:
        return bool(self.publishing)

    async def opened(self, families: Iterable[str], timeout_s: float | None = None) -> None:
        if self.publishing:
            self.published = self.publishing.pop(0)

    def staleness(self) -> Age:
        return Age(self.revision, self.age_ms)

    def store_reader(self, reads: frozenset[str], copies: Copies = Copies.FRESH) -> Reader:
        self.reads = reads
        view = SimpleNamespace(scan=lambda *_, **__: iter(self.rows), revision=self.revision)
        return cast(Reader, view)

    async def catch_up(self, timeout_s: float) -> bool:
        return False

    def _done(self, error: Exception | None) -> asyncio.Future[int]:
        future: asyncio.Future[int] = self._loop.create_future()
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(0)
        return future


class FakeNode:
    """A node's replicas."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self.name = name
        self.replicas: dict[ShardId, FakeShard] = {}
        self.cluster = cluster
        self.own_map: SlotMap | None = None
        self.groups = Router(
            name,
            cluster.catalog,
            self,
            cluster,
            loop=cluster.loop,
            limits=LimitsSection(),
            authority=cluster.authorities.get(name),
            control=ROUTES,
        )

    @property
    def slot_map(self) -> SlotMap:
        return self.own_map or self.cluster.slot_map

    def level(self, feature: str) -> int:
        return CORE_LEVEL

    def knowing(self, command: str) -> Sequence[str]:
        return ()

    def get(self, shard: ShardId) -> Shard | None:
        return cast("Shard | None", self.replicas.get(shard))

    def is_unopened(self, shard: ShardId) -> bool:
        return False

    async def opened(self, shard: ShardId, until: float) -> None:
        raise AssertionError(f"{shard} is open")


class Cluster:
    """Nodes `a`, `b` and `c`; those that host a replica of a shard are its members."""

    def __init__(
        self, catalog: Catalog, authorities: Mapping[str, Authority] | None = None
    ) -> None:
        self.catalog = catalog
        self.authorities = authorities or {}
        self.world = World(1)
        self.loop = VirtualLoop(self.world, Clock(self.world))  # type: ignore[abstract]
        self.slot_map = SlotMap(0, [])
        self.hops: list[tuple[str, str]] = []
        self.forwarded: list[list[LoggedCommand]] = []
        self.lost: dict[str, Exception] = {}
        self.nodes = {name: FakeNode(self, name) for name in "abc"}

    def host(self, shards: int, nodes: str = "a") -> None:
        """Found the group `sample` with replicas on these nodes; the first one leads."""
        members = [ShardMember(node=node, replica=1) for node in nodes]
        self.slot_map = SlotMap(
            1,
            [
                ShardRow(group="sample", number=number, slots=slots, members=members)
                for number, slots in enumerate(even_cut(shards))
            ],
        )
        for number in range(shards):
            shard = ShardId("sample", number)
            for node in nodes:
                replica = self.nodes[node].replicas[shard] = FakeShard(shard, self.loop)
                replica.leads = node == nodes[0]
                replica.leader = Peer(nodes[0], 1)

    def shard(self, number: int = 0, node: str = "a") -> FakeShard:
        return self.nodes[node].replicas[ShardId("sample", number)]

    def run(self, work: Coroutine[Any, Any, T], until: float = 100.0) -> T:
        task = self.loop.create_task(work)
        self.world.run(self.world.now + until)
        assert task.done(), "it never ends"
        return task.result()

    async def propose(
        self,
        node: str,
        shard: ShardId,
        commands: Sequence[LoggedCommand],
        deadlines: Sequence[float],
    ) -> Sequence[Result]:
        self.hops.append((node, commands[0].type))
        self.forwarded.append(list(commands))
        if node in self.lost:
            return [self.lost[node]] * len(commands)
        return await self.nodes[node].groups.accept(shard, commands, deadlines)

    async def query(self, node: str, request: ForwardedQuery) -> ForwardedAnswers:
        self.hops.append((node, request.type))
        if node in self.lost:
            raise self.lost[node]
        return await self.nodes[node].groups.reads.accept(request)


@pytest.fixture
def sample(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "testing" / "plugins")
    return import_module("kit_sample.plugin")


@pytest.fixture
def pb(sample: ModuleType) -> Any:
    return sample.pb


@pytest.fixture
def catalog(sample: ModuleType) -> Catalog:
    plugin = Plugin(name="sample", distribution="s", version="1", module=sample)
    return assemble([declare(plugin)])


@pytest.fixture
def cluster(catalog: Catalog) -> Cluster:
    return Cluster(catalog)


@pytest.fixture
def batch(pb: Any) -> Callable[[str], Any]:
    """A batch that writes a note of each of these owners."""
    return lambda owners: pb.WriteNotes(notes=[pb.WriteNote(owner=owner) for owner in owners])


@pytest.fixture
def answering(pb: Any) -> Callable[[LoggedCommand], Outcome]:
    """Answers a batch item by item with the owners, and refuses `x`."""

    def answer(logged: LoggedCommand) -> Outcome:
        owners = [note.owner for note in pb.WriteNotes.FromString(logged.payload).notes]
        reply = BatchReply(items=len(owners))
        for position, owner in enumerate(owners):
            if owner == "x":
                reply.refusals.add(item=position, code="TAKEN")
            reply.replies.append(b"" if owner == "x" else owner.encode())
        return Outcome(revision_of(2, 0), reply.SerializeToString())

    return answer
