"""Nodes on virtual time whose every step a test decides: their messages, disks, clocks and deaths.

They have the replicas of real nodes, and no RPC. `tests.support.sim` draws such steps from a seed,
and observes and judges each write. `core.tests.consensus` moves replicas without nodes message by
message, `core.tests.node` has real nodes on sockets.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any, TypeVar

from google.protobuf.message import Message as Proto
from google.protobuf.wrappers_pb2 import BytesValue, Int64Value, StringValue
from quorate.apply.applier import ApplyLimits
from quorate.apply.entries import LoggedCommand
from quorate.apply.evaluator import EvaluationLimits
from quorate.apply.outcomes import Outcome
from quorate.apply.program import Program
from quorate.consensus.membership import Configuration, Member
from quorate.consensus.messages import Message, Peer
from quorate.consensus.timing import Timing
from quorate.plugin import ColumnFamily, Command, RaftGroup, Rejected, Txn
from quorate.plugin.catalog import Catalog, assemble
from quorate.plugin.declared import Declared
from quorate.plugin.discovery import Plugin
from quorate.plugin.shard_id import ShardId
from quorate.plugin.slots import slot_of
from quorate.shards.refusals import NoLeaderError
from quorate.shards.shard.capacity import FreeSpace
from quorate.shards.shard.context import ReplicaContext, ShardHooks
from quorate.shards.shard.log_keeper import TailJournal
from quorate.shards.shard.removal import Membership
from quorate.shards.shard.shard import Shard, ShardSettings
from quorate.shards.watching.mirrors import Mirrors
from quorate.storage.data.home import MemoryHome
from quorate.storage.data.shard_data import ShardData
from quorate.storage.engine.memory import MemoryDisk, MemoryEngine
from quorate.storage.log.node_log import FAMILY, NodeLog
from quorate.storage.log.sync_loop import SyncLoop
from quorate.storage.log.witness import MemoryWitnesses
from quorate.storage.notes import MemoryNotes
from quorate.topology.commands.routes import ROUTES
from quorate.topology.replicas.declaration import declaration_of
from quorate.topology.replicas.node_shards import NodeShards

from tests.support.sim.loop import Clock, VirtualLoop, VirtualThread
from tests.support.sim.world import World

T = TypeVar("T")

METADATA = ShardId("metadata", 0)
ROWS = "toy.rows"
TIMING = Timing(heartbeat_s=0.05, election_min_s=0.2, election_max_s=0.4)


# A plugin: a string sets a row, a number counts and answers the sum, bytes make it raise.


def put(txn: Txn, command: StringValue) -> None:
    key, _, value = command.value.partition("=")
    if not key:
        raise Rejected("INVALID_ARGUMENT", "a row needs a key")
    txn.put(ROWS, key.encode(), StringValue(value=value).SerializeToString())


def add(txn: Txn, command: Int64Value) -> Int64Value:
    before = txn.get(ROWS, b"sum")
    total = command.value + (Int64Value.FromString(before).value if before else 0)
    answer = Int64Value(value=total)
    txn.put(ROWS, b"sum", answer.SerializeToString())
    return answer


def spoil(txn: Txn, command: BytesValue) -> None:
    txn.put(ROWS, b"spoilt", b"")
    raise ZeroDivisionError(command.value.decode())


def plugin(group: str) -> Catalog:
    messages: tuple[type[Proto], ...] = (StringValue, Int64Value, BytesValue)
    handlers: tuple[Callable[..., Any], ...] = (put, add, spoil)
    return assemble(
        [
            Declared(
                plugin=Plugin(name="toy", distribution="toy", version="1", module=None),
                all=(
                    *(() if group == "metadata" else (RaftGroup(name=group),)),
                    ColumnFamily(name=ROWS, group=group, row=StringValue),
                    *(
                        Command(
                            message=message,
                            group=group,
                            examples=(message(),),
                            apply=handler,
                            shard_key=lambda _: b"",
                        )
                        for message, handler in zip(messages, handlers, strict=True)
                    ),
                ),
            )
        ]
    )


def logged(message: Proto, *, slot: int | None = None, slotless: bool = False) -> LoggedCommand:
    slots = () if slotless else (slot_of(b"") if slot is None else slot,)
    return LoggedCommand(
        message.DESCRIPTOR.full_name, message.SerializeToString(), slots, slotless=slotless
    )


def row(key: str, value: str) -> LoggedCommand:
    return logged(StringValue(value=f"{key}={value}"))


class Snapshots:
    """Only notes who needs one."""

    def __init__(self) -> None:
        self.asked: list[Peer] = []

    def needed(self, shard: Shard, peers: Sequence[Peer]) -> None:
        self.asked += peers


class Node:
    """A node through its lives: `start` begins one, `kill` ends it."""

    def __init__(self, cluster: Cluster, name: str, shards: Mapping[str, int]) -> None:
        self.cluster = cluster
        self.name = name
        self.configured = dict(shards)
        self.catalog = cluster.catalog
        self.peer = Peer(name, ord(name))
        self.log_disk = MemoryDisk(of_log=True)
        self.witnesses = MemoryWitnesses()
        self.homes: dict[object, MemoryHome] = {}
        self.notes = MemoryNotes()
        self.clock = Clock(cluster.world)
        #: The replicas that open before anything else when a life begins.
        self.at_once = 64
        self.snapshots = Snapshots()
        #: What keeps the copies here, if anything does.
        self.mirrors: Mirrors | None = None
        self.free_bytes = 1 << 40
        self.failures: list[Exception] = []
        self.lives = 0
        self.loop: VirtualLoop
        self.shards: NodeShards
        self.log: NodeLog

    def start(self) -> None:
        self.lives += 1
        self.loop = VirtualLoop(self.cluster.world, self.clock)  # type: ignore[abstract]
        self.log = NodeLog(MemoryEngine(self.log_disk, (FAMILY,)), self.witnesses)
        self.syncs = SyncLoop(
            self.log, self.loop, self._synced, self._log_failed, thread=VirtualThread(self.loop)
        )
        self.shards = NodeShards(
            declaration_of(
                self.peer,
                f"{self.name}.test:1",
                self.catalog,
                configured=self.configured,
                replicas=self.cluster.replicas,
            ),
            self.catalog,
            self.log,
            lambda shard, epoch: self.homes.setdefault(
                (shard, epoch) if epoch else shard, MemoryHome()
            ),
            configured=self.configured,
            notes=self.notes,
            at_once=self.at_once,
            loop=self.loop,
            failed=self.failures.append,
        )
        self.run(lambda: self.shards.open(self.cluster.first, self.submit, self._new_shard))

    def stop(self) -> None:
        for home in self.homes.values():
            home.stop()
        self.kill()

    def kill(self) -> None:
        self.loop.end()
        self.log_disk.kill()
        for home in self.homes.values():
            home.kill()

    def lose_power(self, rng: Random) -> None:
        self.loop.end()
        self.log_disk.lose_power(rng)
        self.witnesses.lose_power(rng)
        for home in self.homes.values():
            home.lose_power(rng)

    def run(self, act: Callable[[], T]) -> T:
        """Call something as the node's loop would."""
        done: list[T] = []
        self.loop.post(0.0, lambda: done.append(act()))
        self.cluster.until(lambda: bool(done))
        return done[0]

    def __getitem__(self, shard: ShardId) -> Shard:
        found = self.shards.get(shard)
        assert found is not None
        return found

    @property
    def metadata(self) -> Shard:
        return self[METADATA]

    def rows(self, shard: ShardId = METADATA) -> dict[str, str]:
        reader = self[shard].store_reader(frozenset((ROWS,)))
        return {
            found.key.decode(): StringValue.FromString(found.value).value
            for found in reader.scan(ROWS, b"", b"\xff", limit=10_000)
        }

    async def submit(self, shard: ShardId, message: Proto) -> None:
        """Propose one of core's own commands where the leader is, wherever that is."""
        command = logged(message, slotless=True)
        for node in self.cluster.nodes.values():
            found = node.shards.get(shard)
            if found is None or not found.leads or self.cluster.is_cut(self.name, node.name):
                continue
            if node is self:
                await found.propose([command])
            else:
                node.loop.call_soon(partial(found.propose, [command]))
            return
        raise NoLeaderError(shard)

    def _new_shard(
        self, shard: ShardId, epoch: int, data: ShardData, journal: TailJournal
    ) -> Shard:
        world = self.cluster.world
        return Shard(
            shard,
            self.peer,
            data,
            journal,
            ReplicaContext(
                catalog=self.catalog,
                settings=self.cluster.settings,
                loop=self.loop,
                wall_ms=lambda: int(self.clock() * 1_000) + 1_000_000,
                space=FreeSpace(lambda: self.free_bytes, self.clock),
            ),
            ShardHooks(
                send=lambda _, messages: self.send(shard, messages),
                request_sync=self._request_sync,
                send_snapshots=lambda shard, peers: self.snapshots.needed(shard, peers),
                ask_members=lambda shard, node: self.ask(shard, node),
                led=self.shards.leaders_changed,
                fork=self.shards.fork,
                catch_up=self._catch_up,
                rows_of=self.shards.rows_of,
            ),
            rng=world.rng(f"{self.name}/{self.lives}/{shard}"),
            epoch=epoch,
            program=Program.of(self.catalog, shard.group, ROUTES),
        )

    async def _catch_up(self, shard: Shard, timeout_s: float) -> bool:
        return self.mirrors is not None and await self.mirrors.catch_up(shard, timeout_s)

    def _request_sync(self, shard: ShardId) -> None:
        self.shards.wrote(shard)
        self.syncs.request()

    def _synced(self, sequence: int) -> None:
        self.shards.synced(sequence)

    def _log_failed(self, error: Exception) -> None:
        self.shards.log_failed(error)

    # The ports of a shard.

    def send(self, shard: ShardId, messages: Sequence[Message]) -> None:
        for message in messages:
            self.cluster.deliver(self, shard, message)

    def ask(self, shard: ShardId, node: str) -> asyncio.Future[Membership | None]:
        answer: asyncio.Future[Membership | None] = self.loop.create_future()
        if not self.cluster.is_cut(self.name, node):
            found = self.cluster.nodes[node].shards.get(shard)
            answer.set_result(None if found is None else found.membership)
        return answer


class Cluster:
    """Formed of nodes named by letters."""

    def __init__(
        self,
        names: str = "abc",
        *,
        seed: int = 1,
        settings: ShardSettings | None = None,
        group: str = "metadata",
        catalog: Catalog | None = None,
        shards: Mapping[str, int] | None = None,
        replicas: Mapping[str, int] | None = None,
        settled: bool = True,
    ) -> None:
        self.world = World(seed)
        self.replicas = replicas or {}
        #: Turns of applying end by size alone: how busy the machine is changes nothing here.
        self.settings = replace(
            settings or ShardSettings(timing=TIMING),
            apply_limits=ApplyLimits(turn_s=float("inf")),
            evaluation=EvaluationLimits(entry_s=float("inf"), slow_s=float("inf")),
        )
        self.catalog = catalog or plugin(group)
        self.rng = self.world.rng("network")
        #: Links on which everything is lost.
        self.cut: set[tuple[str, str]] = set()
        self.isolated: set[str] = set()
        #: Sees every message that leaves; False: it is lost.
        self.passes: Callable[[Message], bool] = lambda _: True
        self.nodes = {name: Node(self, name, shards or {}) for name in names}
        self.first: Configuration | None = Configuration.of(
            Member(node.peer) for node in self.nodes.values()
        )
        for node in self.nodes.values():
            node.start()
        if settled:
            self.until(self._is_settled)

    def _is_settled(self) -> bool:
        """Whether every shard that is wanted is there, and knows its slots."""
        declared = self.nodes["a"].shards.declared
        wanted = sum(
            count * self.replicas.get(group, len(self.nodes)) for group, count in declared.items()
        )
        if sum(len(list(node.shards.all())) for node in self.nodes.values()) < wanted:
            return False
        for node in self.nodes.values():
            shards = list(node.shards.all())
            if not all(each.applier.slots.version for each in shards):
                return False
            if any(each.status().queued + each.status().in_flight for each in shards):
                return False
        return True

    @property
    def leader(self) -> Node:
        return self.leader_of(METADATA)

    def leader_of(self, shard: ShardId) -> Node:
        """Return the node that leads a shard in the newest term, once there is one.

        One that was isolated is not asked.
        """
        found: list[tuple[int, Node]] = []

        def led() -> bool:
            for name, node in self.nodes.items():
                # Asking for a replica by its name would open it.
                for replica in node.shards.all():
                    if replica.id == shard and replica.leads and name not in self.isolated:
                        found.append((replica.term, node))
            return bool(found)

        self.until(led)
        return max(found, key=lambda each: each[0])[1]

    @property
    def followers(self) -> list[Node]:
        leader = self.leader
        return [node for node in self.nodes.values() if node is not leader]

    # Time.

    def until(self, holds: Callable[[], bool], within_s: float = 60.0) -> None:
        """Let time pass until something holds."""
        give_up = self.world.now + within_s
        while not holds():
            assert self.world.now < give_up, f"not after {within_s} s"
            self.world.run(self.world.now + 0.001)

    def pass_time(self, seconds: float) -> None:
        self.world.run(self.world.now + seconds)

    def result(self, future: asyncio.Future[T]) -> T:
        self.until(future.done)
        return future.result()

    def failure(self, future: asyncio.Future[Any]) -> BaseException | None:
        self.until(future.done)
        return future.exception()

    # What tests do.

    def propose(self, *commands: LoggedCommand, **options: Any) -> tuple[Outcome, ...]:
        """Propose to the leader of the nodes that hear each other."""
        return self.result(self.proposal(self.leader, *commands, **options))

    @staticmethod
    def proposal(
        node: Node, *commands: LoggedCommand, shard: ShardId = METADATA, **options: Any
    ) -> asyncio.Future[tuple[Outcome, ...]]:
        return node.run(lambda: node[shard].propose(commands, **options))

    def isolate(self, node: Node) -> None:
        self.isolated.add(node.name)
        for other in self.nodes:
            if other != node.name:
                self.cut |= {(node.name, other), (other, node.name)}

    def heal(self) -> None:
        self.cut.clear()
        self.isolated.clear()
        for node in self.nodes.values():
            for other in self.nodes:
                node.run(partial(node.shards.remade, other))

    def is_cut(self, source: str, target: str) -> bool:
        return (source, target) in self.cut

    def deliver(self, source: Node, shard: ShardId, message: Message) -> None:
        if self.is_cut(source.name, message.target.node) or not self.passes(message):
            return
        target = self.nodes.get(message.target.node)
        if target is not None:
            delay = self.rng.uniform(0.001, 0.004)
            target.loop.post(delay, lambda: void(target.shards.deliver(str(shard), message)))


def void(_: object) -> None:
    """Return nothing."""
