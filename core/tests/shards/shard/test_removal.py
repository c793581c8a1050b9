"""How often replicas look whether they were removed, on a loop whose time a test moves."""

from __future__ import annotations

import asyncio
from collections import Counter
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from quorate.consensus.driver import Alarms
from quorate.consensus.inherited import FOLLOWER
from quorate.consensus.membership import Configuration, Member
from quorate.consensus.messages import Peer
from quorate.consensus.timing import Timing
from quorate.plugin.shard_id import ShardId
from quorate.shards.shard.removal import Membership, RemovalWatch, RemovedError

from tests.support.sim.loop import Clock, VirtualLoop
from tests.support.sim.world import World

ME, OTHER, NEW = Peer("a", 1), Peer("b", 2), Peer("c", 3)
MEMBERS = Configuration.of([Member(ME), Member(OTHER)])
#: Ten election timeouts, and the grid of the looks.
LATEST_S = 12.0


class Node:
    """The watches of so many replicas."""

    def __init__(self, replicas: int) -> None:
        self.world = World(1)
        clock = Clock(self.world)
        self.loop = VirtualLoop(self.world, clock)  # type: ignore[abstract]
        self.alarms = Alarms(self.loop)
        self.heard_at = 0.0
        self.answer: Membership | None = None
        self.asked: list[tuple[ShardId, str]] = []
        self.removed: list[RemovedError] = []
        self.asked_at = Counter[float]()
        #: The most questions that are asked at a time; the others are answered with None.
        self.most = replicas
        self.rng = Random(1)
        self.watches = [self.watch(number) for number in range(replicas)]

    def watch(self, number: int) -> RemovalWatch:
        node = self

        class Replica(SimpleNamespace):
            @property
            def leader_seen_at(self) -> float:
                return node.heard_at

            def draw_timeout(self) -> float:
                return node.rng.uniform(self.timing.election_min_s, self.timing.election_max_s)

        log = SimpleNamespace(configuration=MEMBERS, configuration_index=1)
        replica: Any = Replica(me=ME, role=FOLLOWER, timing=Timing(), log=log)
        return RemovalWatch(
            ShardId("kv", number),
            replica,
            self.loop,
            self.ask,
            self.alarms,
            removed=self.removed.append,
        )

    def ask(self, shard: ShardId, node: str) -> asyncio.Future[Membership | None]:
        answer: asyncio.Future[Membership | None] = self.loop.create_future()
        if self.asked_at[self.world.now] < self.most:
            self.asked_at[self.world.now] += 1
            self.asked.append((shard, node))
            answer.set_result(self.answer)
        else:
            answer.set_result(None)
        return answer

    def run(self, seconds: float) -> None:
        self.world.run(self.world.now + seconds)


@pytest.fixture
def node() -> Node:
    return Node(1)


def test_a_replica_without_a_leader_asks_the_others_and_hears_that_it_is_removed(
    node: Node,
) -> None:
    node.watches[0].start()
    node.run(9.9)
    assert node.asked == []
    node.run(LATEST_S - 9.9)
    assert node.asked == [(ShardId("kv", 0), "b")]
    node.answer = Membership(7, Configuration.of([Member(OTHER), Member(NEW)]))
    node.run(LATEST_S)
    assert len(node.asked) == 2
    assert len(node.removed) == 1


def test_one_that_hears_its_leader_or_has_ended_asks_nobody(node: Node) -> None:
    node.watches[0].start()
    for _ in range(10):
        node.heard_at = node.world.now
        node.run(9.0)
    node.watches[0].stop()
    node.run(100.0)
    assert node.asked == []


def test_the_replicas_of_a_node_look_together(monkeypatch: pytest.MonkeyPatch) -> None:
    node, timers = Node(300), list[float]()
    call_at = node.loop.call_at

    def counted(when: float, *call: Any, **options: Any) -> asyncio.TimerHandle:
        timers.append(when)
        return call_at(when, *call, **options)

    monkeypatch.setattr(node.loop, "call_at", counted)
    for each in node.watches:
        each.start()
        node.run(0.005)
    for _ in range(60):
        node.heard_at = node.world.now
        node.run(1.0)
    assert len(timers) <= 13


def test_each_replica_gets_its_question_asked_although_few_are_at_a_time() -> None:
    node = Node(100)
    node.most = 4
    for each in node.watches:
        each.start()
    node.run(1_000.0)
    assert len(set(node.asked)) == 100
