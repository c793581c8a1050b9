"""Real servers on loopback ports, over nodes whose replicas only write down what comes."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, nullcontext
from functools import cache
from importlib import import_module
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, cast

import grpc
import grpc.aio
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool
from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.wrappers_pb2 import StringValue
from google.rpc import error_details_pb2, status_pb2
from quorate.apply.entries import Copies, LoggedCommand, revision_of
from quorate.apply.levels import CORE_LEVEL
from quorate.apply.outcomes import Outcome
from quorate.config.sections import LimitsSection, TlsSection
from quorate.consensus.formation import Introduction
from quorate.consensus.membership import Configuration, Member
from quorate.consensus.messages import Peer
from quorate.consensus.peer.network import PeerHooks, PeerNetwork
from quorate.plugin import Invalid
from quorate.plugin.access import Open
from quorate.plugin.catalog import Catalog, assemble
from quorate.plugin.declared import declare
from quorate.plugin.discovery import Plugin
from quorate.plugin.shard_id import ShardId
from quorate.plugin.slots import even_cut
from quorate.plugin.transaction import Reader
from quorate.rpc.channels import NodeChannels
from quorate.rpc.command_service import CommandService
from quorate.rpc.forwarder import NodeForwarder
from quorate.rpc.identities import Guard
from quorate.rpc.node_service import NodeService
from quorate.rpc.server import RpcServer
from quorate.rpc.status import DETAILS_KEY, detail
from quorate.shards.refusals import NoLeaderError, UnreadableError
from quorate.shards.router import Router
from quorate.shards.routing.slot_map import SlotMap
from quorate.shards.shard.removal import Membership
from quorate.shards.shard.shard import Shard
from quorate.shards.watching.watches import Watches
from quorate.topology.changes.members import AskedStep, StepTaken
from quorate.topology.commands.routes import ROUTES
from quorate.v1.control_pb2 import ShardMember, ShardRow

SHARD = ShardId("sample", 0)
NOTE = "kit_sample.v1.WriteNote"
LIMITS = LimitsSection(
    key_bytes=64, value_bytes=1_000, command_bytes=2_000, grpc_message_bytes=4_000, batch_items=20
)
REPLICAS = {"a": 1, "b": 2}


class Age(NamedTuple):
    revision: int
    age_ms: int


class FakeReplica:
    """Leads or not, and answers what it is told to."""

    def __init__(self, leads: bool) -> None:
        self.leads = leads
        self.term = 1
        self.leader: Peer | None = Peer("a", REPLICAS["a"])
        self.leaderless_from = float("inf")
        self.proposed: list[LoggedCommand] = []
        self.timeouts: list[float] = []
        #: How many commands came at once.
        self.calls: list[int] = []
        self.answer: Callable[[LoggedCommand], Outcome] = lambda logged: Outcome(
            revision_of(len(self.proposed), 0), logged.payload
        )
        #: By the command's payload; raised in place of an answer.
        self.errors: dict[bytes, Exception] = {}
        self.waits: asyncio.Event | None = None
        self.rows: Sequence[Any] = ()

    async def _propose(self, commands: Sequence[LoggedCommand]) -> tuple[Outcome, ...]:
        if self.waits is not None:
            await self.waits.wait()
        for each in commands:
            if each.payload in self.errors:
                raise self.errors[each.payload]
        return tuple(map(self.answer, commands))

    def propose(
        self,
        commands: Sequence[LoggedCommand],
        *,
        term: int | None = None,
        timeout_s: float | None = None,
    ) -> asyncio.Future[tuple[Outcome, ...]]:
        if not self.leads:
            raise NoLeaderError(SHARD, self.leader)
        # What fails in a shard fails the whole call: so what is to fail is taken alone.
        if len(commands) > 1 and any(each.payload in self.errors for each in commands):
            raise Invalid("commands", "send less at once")
        self.proposed.extend(commands)
        self.timeouts.append(timeout_s or 0.0)
        self.calls.append(len(commands))
        return asyncio.ensure_future(self._propose(commands))

    def read_barrier(
        self, timeout_s: float | None = None, *, patient: bool = True
    ) -> asyncio.Future[int]:
        return _now()

    def wait_for(self, revision: int, timeout_s: float | None = None) -> asyncio.Future[int]:
        return _now()

    revision = 7
    published = 0
    is_publishing = False

    def staleness(self) -> Age:
        return Age(7, 40)

    async def catch_up(self, timeout_s: float) -> bool:
        return False

    def store_reader(self, reads: frozenset[str], copies: Copies = Copies.FRESH) -> Reader:
        class View:
            revision = 7

            def scan(_, *args: Any, **options: Any) -> Any:
                return iter(self.rows)

        return cast(Reader, View())


def _now() -> asyncio.Future[int]:
    future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    future.set_result(0)
    return future


class Node:
    """A node that is complete but for its replicas."""

    def __init__(self, name: str, catalog: Catalog, token: str = "token") -> None:
        self.loop = asyncio.get_running_loop()
        self.name = name
        self.catalog = catalog
        self.replicas: dict[ShardId, FakeReplica] = {}
        members = [ShardMember(node=node, replica=number) for node, number in REPLICAS.items()]
        rows = [
            ShardRow(group="sample", number=number, slots=slots, members=members)
            for number, slots in enumerate(even_cut(1))
        ]
        self.slot_map = SlotMap(1, rows)
        me = Peer(name, REPLICAS[name])
        self.network = PeerNetwork(
            me,
            token,
            PeerHooks(
                deliver=lambda *_: True,
                remade=lambda node: None,
                admit=lambda peer, index: REPLICAS[peer.node] == peer.replica,
                config_index=lambda: 1,
                introduced=lambda other: Introduction(me, (), b""),
            ),
            rng=random.Random(1),
        )
        self.channels = NodeChannels(self.network, connect_s=5.0)
        self.forwarder = NodeForwarder(self.channels, self.loop, LIMITS)
        self.membership: Membership | None = Membership(
            5, Configuration.of(Member(Peer(node, number)) for node, number in REPLICAS.items())
        )
        self.wall_ms = 1_000_000
        self.steps: list[AskedStep] = []
        self.take_step: Callable[[AskedStep], Awaitable[StepTaken]] = self._take_step
        self.step: StepTaken | Exception = StepTaken("learner")
        self.groups = Router(
            name,
            catalog,
            self,
            self.forwarder,
            loop=self.loop,
            limits=LIMITS,
            write_timeout_s=60,
            control=ROUTES,
        )
        #: Whom it asks, when another node reads for a caller.
        self.authority = Open()
        self.guard = Guard(self.authority)
        self.server = self.serve()
        self.address = ""

    def serve(self) -> RpcServer:
        """Return a server of this node's services."""
        server = RpcServer(LIMITS)
        CommandService(self.groups, self.catalog, LIMITS).add_to(server)
        NodeService(
            self.network,
            self.groups,
            lambda _: self.membership,
            lambda asked: self.take_step(asked),
            lambda: self.wall_ms,
            self.watching,
            nullcontext,
            lambda _: None,
            self.guard,
        ).add_to(server)
        return server

    async def _take_step(self, asked: AskedStep) -> StepTaken:
        self.steps.append(asked)
        if isinstance(self.step, Exception):
            raise self.step
        return self.step

    def watching(self) -> Watches:
        raise UnreadableError("these nodes have no watches")

    def level(self, feature: str) -> int:
        return CORE_LEVEL

    def knowing(self, command: str) -> Sequence[str]:
        return ("z",)

    def get(self, shard: ShardId) -> Shard | None:
        return cast("Shard | None", self.replicas.get(shard))

    def is_unopened(self, shard: ShardId) -> bool:
        return False

    async def opened(self, shard: ShardId, until: float) -> None:
        raise AssertionError(f"{shard} is open")

    async def start(self) -> None:
        self.address = f"127.0.0.1:{self.server.bind('127.0.0.1', 0, TlsSection())}"
        await self.server.start(reflection=True)

    async def stop(self) -> None:
        await self.channels.close()
        await self.network.stop()
        await self.server.stop(0)


@pytest.fixture
def limits() -> LimitsSection:
    return LIMITS


@pytest.fixture
def sample(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "testing" / "plugins")
    return import_module("kit_sample.plugin")


@pytest.fixture
def pb(sample: ModuleType) -> Any:
    return sample.pb


@pytest.fixture
def catalog(sample: ModuleType) -> Catalog:
    return assemble([declare(Plugin(name="sample", distribution="s", version="1", module=sample))])


@pytest.fixture
async def nodes(catalog: Catalog) -> AsyncIterator[dict[str, Node]]:
    """Nodes a, which leads, and b, which does not and has no replica."""
    async with AsyncExitStack() as stack:
        found = {}
        for name in REPLICAS:
            node = found[name] = Node(name, catalog)
            stack.push_async_callback(node.stop)
            await node.start()
        addresses = {name: node.address for name, node in found.items()}
        for node in found.values():
            node.network.know(addresses)
            node.network.join(b"the cluster")
        found["a"].replicas[SHARD] = FakeReplica(leads=True)
        yield found


@pytest.fixture
def leader(nodes: dict[str, Node]) -> FakeReplica:
    return nodes["a"].replicas[SHARD]


class Told(NamedTuple):
    """What a client sees of a failed call."""

    code: grpc.StatusCode
    reason: str
    field: str
    text: str
    metadata: dict[str, str]


@pytest.fixture
def told() -> Callable[[grpc.aio.AioRpcError | status_pb2.Status], Told]:
    """Reads the details of a failed call, or of one command of it."""

    def read(failed: grpc.aio.AioRpcError | status_pb2.Status) -> Told:
        if isinstance(failed, status_pb2.Status):
            return _told(failed)
        metadata: Any = failed.trailing_metadata()
        found = _told(status_pb2.Status.FromString(dict(metadata).get(DETAILS_KEY, b"")))
        assert failed.code() is found.code
        return found

    return read


def _told(status: status_pb2.Status) -> Told:
    codes = {code.value[0]: code for code in grpc.StatusCode}
    info = detail(status, error_details_pb2.ErrorInfo)
    violations = detail(status, error_details_pb2.BadRequest).field_violations
    return Told(
        codes[status.code],
        info.reason,
        violations[0].field if violations else "",
        status.message,
        dict(info.metadata),
    )


@pytest.fixture(scope="session")
def four_kinds() -> Callable[[str], ServiceDescriptor]:
    """Return what declares a service of a name, with a method for each kind of stream."""

    @cache
    def declare(full_name: str) -> ServiceDescriptor:
        package, _, name = full_name.rpartition(".")
        file = descriptor_pb2.FileDescriptorProto(
            name=f"{full_name}.proto",
            package=package,
            dependency=[StringValue.DESCRIPTOR.file.name],
        )
        service = file.service.add(name=name)
        for ends in product(("unary", "stream"), repeat=2):
            service.method.add(
                name="_".join(ends),
                input_type=".google.protobuf.StringValue",
                output_type=".google.protobuf.StringValue",
                client_streaming=ends[0] == "stream",
                server_streaming=ends[1] == "stream",
            )
        pool = descriptor_pool.Default()
        pool.Add(file)
        return pool.FindServiceByName(full_name)

    return declare
