"""Timers and spreading over three replicas of a real shard, on virtual time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from google.protobuf.message import Message as Proto
from google.protobuf.struct_pb2 import ListValue
from google.protobuf.wrappers_pb2 import Int64Value, StringValue
from quorate.apply.entries import LoggedCommand
from quorate.apply.program import Program, families_of
from quorate.consensus.membership import Configuration, Member
from quorate.consensus.messages import Append, Message, Peer
from quorate.consensus.timing import Timing
from quorate.control.leader_balance import Leadership, leadership_of, ready_of
from quorate.control.timers import Timers
from quorate.plugin import ColumnFamily, Command, ShardRef, Timer, Txn
from quorate.plugin.catalog import Catalog, assemble
from quorate.plugin.declared import Declared
from quorate.plugin.discovery import Plugin
from quorate.plugin.shard_id import ShardId
from quorate.shards.shard.context import ReplicaContext, ShardHooks
from quorate.shards.shard.log_keeper import open_journal
from quorate.shards.shard.shard import Shard, ShardSettings
from quorate.storage.data.home import MemoryHome
from quorate.storage.data.shard_data import ShardData
from quorate.storage.engine.memory import MemoryDisk, MemoryEngine
from quorate.storage.log.node_log import FAMILY, NodeLog
from quorate.storage.log.sync_loop import SyncLoop
from quorate.storage.log.witness import MemoryWitnesses
from quorate.topology.commands.routes import ROUTES

from tests.support.sim.loop import Clock, VirtualLoop
from tests.support.sim.world import World

METADATA = ShardId("metadata", 0)
ROWS = "toy.brokers"
TIMER = "toy.liveness"
TTL_MS = 10_000


# A plugin: a name is a heartbeat, and a list of names is who is overdue.


def beat(txn: Txn, command: StringValue) -> None:
    key, deadline_ms = command.value.encode(), txn.proposed_at_ms + TTL_MS
    txn.put(ROWS, key, Int64Value(value=deadline_ms).SerializeToString())
    txn.schedule(TIMER, key, deadline_ms, ttl_ms=TTL_MS)


def expire(txn: Txn, command: ListValue) -> None:
    for name in command:
        key = str(name).encode()
        row = txn.get(ROWS, key)
        if row is not None and Int64Value.FromString(row).value <= txn.proposed_at_ms:
            txn.delete(ROWS, key)
            txn.schedule(TIMER, key, None)


def overdue(keys: Sequence[bytes]) -> Proto:
    found = ListValue()
    found.extend([key.decode() for key in keys])
    return found


LIVENESS = Timer(name=TIMER, group="metadata", due=overdue, liveness=True)


def _command(message: type[Proto], apply: Callable[[Txn, Any], None]) -> Command[Any]:
    return Command(
        message=message,
        group="metadata",
        examples=(message(),),
        apply=apply,
        shard_key=lambda _: b"",
    )


def catalog() -> Catalog:
    return assemble(
        [
            Declared(
                plugin=Plugin(name="toy", distribution="toy", version="1", module=None),
                all=(
                    ColumnFamily(name=ROWS, group="metadata", row=Int64Value),
                    _command(StringValue, beat),
                    _command(ListValue, expire),
                    LIVENESS,
                ),
            )
        ]
    )


def logged(message: Proto) -> LoggedCommand:
    name = message.DESCRIPTOR.full_name
    return LoggedCommand(name, message.SerializeToString(), slotless=True)


class Node:
    """One replica, with its timers."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self.cluster = cluster
        self.peer = Peer(name, ord(name))
        self.clock = Clock(cluster.world)
        self.loop = VirtualLoop(cluster.world, self.clock)  # type: ignore[abstract]
        log = NodeLog(MemoryEngine(MemoryDisk(), (FAMILY,)), MemoryWitnesses())
        data = ShardData.open(MemoryHome(), families_of(cluster.catalog, "metadata"))
        syncs = SyncLoop(log, self.loop, lambda n: self.shard.synced(n), self._failed)
        self.shard = Shard(
            METADATA,
            self.peer,
            data,
            open_journal(log, str(METADATA), data),
            ReplicaContext(
                catalog=cluster.catalog,
                settings=ShardSettings(
                    timing=Timing(heartbeat_s=0.05, election_min_s=0.2, election_max_s=0.4)
                ),
                loop=self.loop,
                wall_ms=self.now_ms,
            ),
            ShardHooks(
                send=self.send,
                request_sync=lambda _: syncs.request(),
                send_snapshots=self.needed,
            ),
            rng=cluster.world.rng(name),
            program=Program.of(cluster.catalog, METADATA.group, ROUTES),
        )
        self.proposed: list[tuple[float, Proto, ShardRef]] = []
        self.timers = Timers([LIVENESS], lambda: [self.shard], self._propose, loop=self.loop)

    def now_ms(self) -> int:
        return int(self.clock() * 1_000)

    def start(self, first: Configuration) -> None:
        self.shard.start(first)
        self.timers.start()

    async def _propose(self, message: Proto, ref: ShardRef) -> None:
        self.proposed.append((self.cluster.world.now, message, ref))
        await self.shard.propose([logged(message)], term=ref.term)

    def beat(self, name: str) -> None:
        self.shard.propose([logged(StringValue(value=name))])

    def send(self, name: str, messages: Sequence[Message]) -> None:
        for message in messages:
            self.cluster.carry(message)

    def needed(self, shard: Shard, peers: Sequence[Peer]) -> None:
        raise AssertionError("nothing was cut from the log")

    def _failed(self, error: Exception) -> None:
        raise error

    @property
    def brokers(self) -> set[str]:
        reader = self.shard.store_reader(frozenset((ROWS,)))
        return {row.key.decode() for row in reader.scan(ROWS, b"", b"\xff", limit=100)}


class Cluster:
    """Three replicas."""

    def __init__(self) -> None:
        self.world = World(1)
        self.catalog = catalog()
        self.nodes = {name: Node(self, name) for name in "abc"}
        #: Loses what it says no to.
        self.passes: Callable[[Message], bool] = lambda _: True
        first = Configuration.of(Member(node.peer) for node in self.nodes.values())
        for node in self.nodes.values():
            node.loop.post(0.0, node.start, first)

    def carry(self, message: Message) -> None:
        target = self.nodes[message.target.node]
        if self.passes(message):
            target.loop.post(0.002, target.shard.receive, message)

    def pass_time(self, seconds: float) -> None:
        self.world.run(self.world.now + seconds)

    @property
    def leader(self) -> Node:
        """The leader of the newest term."""
        while not (found := [node for node in self.nodes.values() if node.shard.leads]):
            assert self.world.now < 600.0
            self.pass_time(0.01)
        return max(found, key=lambda node: node.shard.term)

    def beat(self, name: str) -> None:
        leader = self.leader
        leader.loop.run(leader.beat, name)

    def leaderships(self) -> dict[str, Leadership]:
        return {
            name: leadership_of(node.shard)._replace(ready=ready_of(node.shard))
            for name, node in self.nodes.items()
        }


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    made = Cluster()
    made.pass_time(2.0)
    yield made
    made.world.dispose()


def test_who_is_silent_expires_and_who_renews_does_not(cluster: Cluster) -> None:
    cluster.beat("silent")
    for _ in range(8):
        cluster.beat("loud")
        cluster.pass_time(3.0)

    assert [node.brokers for node in cluster.nodes.values()] == [{"loud"}] * 3
    assert [overdue for _, overdue, _ in cluster.leader.proposed] == [overdue([b"silent"])]


def test_a_leader_that_was_paused_loses_its_office_and_the_next_one_waits(
    cluster: Cluster,
) -> None:
    cluster.beat("x")
    cluster.pass_time(1.0)
    paused = cluster.leader
    paused.loop.pause()
    cluster.pass_time(2.0)
    successor = next(
        node for node in cluster.nodes.values() if node is not paused and node.shard.leads
    )
    cluster.pass_time(7.8)
    # Its deadline has passed, and the new leader has not led for a whole time to live.
    assert "x" in successor.brokers

    cluster.pass_time(2.0)
    assert "x" not in successor.brokers
    cluster.pass_time(20.0)
    paused.loop.resume()
    cluster.pass_time(1.0)

    assert paused.proposed == []
    [(_, _, ref)] = successor.proposed
    assert ref == ShardRef("metadata", 0, successor.shard.term)


def test_a_whole_cluster_that_was_paused_expires_nobody_who_could_not_renew(
    cluster: Cluster,
) -> None:
    cluster.beat("x")
    cluster.pass_time(1.0)
    for node in cluster.nodes.values():
        node.loop.pause()
    cluster.pass_time(3.0 * TTL_MS / 1_000)
    for node in cluster.nodes.values():
        node.loop.resume()
    cluster.pass_time(5.0)
    cluster.beat("x")
    cluster.pass_time(8.0)

    assert cluster.leader.brokers == {"x"}
    assert [node.proposed for node in cluster.nodes.values()] == [[], [], []]


def test_only_the_leader_knows_who_could_take_over(cluster: Cluster) -> None:
    leader = cluster.leader.peer.node
    found = cluster.leaderships()

    assert {each.leader for each in found.values()} == {leader}
    assert {name: each.ready for name, each in found.items()} == {
        name: frozenset("abc") - {leader} if name == leader else frozenset() for name in "abc"
    }


def test_a_follower_that_is_behind_or_silent_could_not(cluster: Cluster) -> None:
    leader = cluster.leader.peer.node
    behind, sound = sorted(set("abc") - {leader})
    cluster.passes = lambda message: (
        not (
            message.target.node == behind
            and isinstance(message.body, Append)
            and bool(message.body.entries)
        )
    )
    cluster.beat("x")
    cluster.pass_time(0.3)
    assert cluster.leaderships()[leader].ready == {sound}

    cluster.passes = lambda message: message.source.node != sound
    cluster.pass_time(1.5)
    assert sound not in cluster.leaderships()[leader].ready
