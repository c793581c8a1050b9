from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Any, cast

import pytest
from quorate.consensus.membership import Configuration, Member
from quorate.consensus.messages import Peer
from quorate.node import readiness
from quorate.node.readiness import Readiness
from quorate.plugin.shard_id import ShardId
from quorate.shards.refusals import ReadTimeoutError
from quorate.shards.routing.slot_map import SlotMap
from quorate.shards.shard.reads import Staleness
from quorate.shards.shard.shard import ShardClosedError
from quorate.topology.replicas.census import Census
from quorate.topology.replicas.unopened import Asked, Unopened
from quorate.v1.control_pb2 import ShardMember, ShardRow
from quorate.v1.node_pb2 import LedShard

METADATA = ShardId("metadata", 0)
ME, OTHER = Peer("n1", 1), Peer("n2", 2)


class Replica:
    """Has caught up after a few attempts."""

    def __init__(self, shard: ShardId, timeouts: int = 0) -> None:
        self.id = shard
        self.timeouts = timeouts
        self.stopped: Exception | None = None
        self.told: Callable[[int], None] | None = None
        self.configuration = Configuration.of([Member(ME), Member(OTHER)])
        self.age_ms = -1

    def staleness(self) -> Staleness:
        return Staleness(1, self.age_ms)

    def subscribe(self, callback: Callable[[int], None]) -> Callable[[], None]:
        self.told = callback

        def cancel() -> None:
            self.told = None

        return cancel

    async def read_barrier(self, timeout_s: float) -> int:
        if self.stopped is not None:
            raise ShardClosedError("its replica stopped")
        if self.timeouts:
            self.timeouts -= 1
            raise ReadTimeoutError("there is no leader")
        return 1


class Shards:
    """The shards of a node, as they come to be."""

    def __init__(self) -> None:
        self.me = ME
        self.broken: dict[ShardId, Exception] = {}
        self.declared = {"kv": 2, "metadata": 1}
        self.slot_map = SlotMap(0, ())
        self.moving: set[ShardId] = set()
        self.metadata = Replica(METADATA)
        self.here = [self.metadata]
        self.unopened = Unopened(asyncio.get_running_loop())
        self.opened: Callable[[Replica], None] = lambda _: None

    def on_open(self, callback: Callable[[Replica], None]) -> None:
        self.opened = callback

    def replica(self, shard: ShardId) -> Replica:
        assert shard == METADATA
        return self.metadata

    def all(self) -> Iterable[Replica]:
        return self.here

    def is_moving(self, shard: ShardId) -> bool:
        return shard in self.moving

    def found(self, *members: Peer) -> None:
        """Let the rows of the group come."""
        listed = [ShardMember(node=peer.node, replica=peer.replica) for peer in members]
        self.slot_map = SlotMap(
            1, [ShardRow(group="kv", number=n, slots=bytes(128), members=listed) for n in range(2)]
        )
        self.tell()

    def open(self, number: int) -> None:
        self.here.append(Replica(ShardId("kv", number)))
        self.opened(self.here[-1])

    def tell(self) -> None:
        assert self.metadata.told is not None
        self.metadata.told(1)


@pytest.fixture
async def shards() -> Shards:
    return Shards()


def ready(shards: Shards) -> Readiness:
    return Readiness(cast(Any, shards), asyncio.get_running_loop())


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not holds():
            await asyncio.sleep(0)


async def test_every_shard_of_the_node_is_waited_for(shards: Shards) -> None:
    waiting = asyncio.create_task(ready(shards).hosted())
    await until(lambda: shards.metadata.told is not None)
    shards.found(ME)
    shards.open(0)
    await asyncio.sleep(0)
    assert not waiting.done()
    shards.open(1)

    hosted: list[Any] = await waiting
    assert [str(each.id) for each in hosted] == ["metadata/0", "kv/0", "kv/1"]
    assert shards.metadata.told is None


async def test_the_shards_that_another_node_leads_open_before_the_node_is_ready(
    shards: Shards,
) -> None:
    loop, kv = asyncio.get_running_loop(), [ShardId("kv", number) for number in range(3)]
    shards.unopened.begin(
        [(shard, str(shard)) for shard in kv], lambda shard, asked: shards.open(shard.number)
    )
    census = Census(loop.time)
    waiting = asyncio.create_task(ready(shards).wanted(census))
    for _ in range(10):
        await asyncio.sleep(0)
    assert not waiting.done()
    census.hear(OTHER, [LedShard(shard="kv/1", term=1)])

    wanted: list[Any] = await waiting
    assert [str(each.id) for each in wanted] == ["metadata/0", "kv/1"]
    assert list(shards.unopened) == [kv[0], kv[2]]
    shards.metadata.told = lambda _: None
    shards.found(ME)
    # What nobody leads keeps no node from being ready.
    assert not ready(shards).lacking()


async def test_a_node_is_ready_although_shards_come_to_be_led_one_after_the_other(
    shards: Shards,
) -> None:
    """Where all nodes begin, each of them opens shards, and leads them, for a long time."""
    loop, kv = asyncio.get_running_loop(), [ShardId("kv", number) for number in range(50)]
    census = Census(loop.time)

    def open_and_hear_of_the_next(shard: ShardId, asked: Asked | None) -> None:
        shards.open(shard.number)
        census.hear(OTHER, [LedShard(shard=f"kv/{shard.number + 1}", term=1)])

    shards.unopened.begin([(shard, str(shard)) for shard in kv], open_and_hear_of_the_next)
    census.hear(OTHER, [LedShard(shard="kv/0", term=1)])
    async with asyncio.timeout(20):
        await ready(shards).wanted(census)

    assert list(shards.unopened) == kv[1:]


async def test_shards_of_other_nodes_are_not_waited_for(shards: Shards) -> None:
    waiting = asyncio.create_task(ready(shards).hosted())
    await until(lambda: shards.metadata.told is not None)
    shards.found(Peer("n2", 2))

    assert len(await waiting) == 1


async def test_a_replica_that_is_on_its_way_here_is_not_waited_for(shards: Shards) -> None:
    waiting = asyncio.create_task(ready(shards).hosted())
    await until(lambda: shards.metadata.told is not None)
    shards.moving = {ShardId("kv", 0), ShardId("kv", 1)}
    shards.found(ME)

    assert len(await waiting) == 1


async def test_shards_beside_the_one_that_names_them_are_waited_for(shards: Shards) -> None:
    shards.declared = {"metadata": 2}
    waiting = asyncio.create_task(ready(shards).hosted())
    await until(lambda: shards.metadata.told is not None)
    shards.tell()
    await asyncio.sleep(0)
    assert not waiting.done()
    members = [ShardMember(node=ME.node, replica=ME.replica)]
    rows = [
        ShardRow(group="metadata", number=n, slots=bytes(128), members=members) for n in range(2)
    ]
    shards.slot_map = SlotMap(1, rows)
    shards.here.append(Replica(ShardId("metadata", 1)))
    shards.tell()

    assert len(await waiting) == 2


async def test_a_shard_that_cannot_be_opened_is_not_waited_for_and_told(shards: Shards) -> None:
    found = ready(shards)
    waiting = asyncio.create_task(found.hosted())
    await until(lambda: shards.metadata.told is not None)
    shards.broken[ShardId("kv", 0)] = OSError("damaged")
    shards.found(ME)
    shards.open(1)

    assert [str(each.id) for each in await waiting] == ["metadata/0", "kv/1"]
    assert found.lacking() == ["shard kv/0 cannot be opened on n1: damaged"]


async def test_a_shard_that_stopped_is_not_waited_for_and_told(shards: Shards) -> None:
    found, stopped = ready(shards), Replica(ShardId("kv", 0))
    shards.declared = {}
    shards.here.append(stopped)
    stopped.stopped = ValueError("poison")
    await found.caught_up(cast(Any, [stopped, shards.metadata]))

    assert found.missing() == found.lacking() == ["shard kv/0 has stopped on n1: poison"]


async def test_what_is_waited_for_is_said_from_time_to_time(
    shards: Shards, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readiness, "_TELL_S", 0.01)
    found = ready(shards)
    waiting = asyncio.create_task(found.hosted())
    await until(lambda: bool(caplog.records))
    shards.found(ME)
    shards.open(0)
    caplog.clear()
    await until(lambda: bool(caplog.records))
    assert "there is no replica of kv/1 yet" in caplog.messages[0]
    assert "there is no replica of kv/1 yet" in found.missing()
    shards.open(1)
    await waiting


async def test_a_shard_is_ready_once_it_has_caught_up(
    shards: Shards, caplog: pytest.LogCaptureFixture
) -> None:
    late = Replica(METADATA, timeouts=2)
    shards.here, found = [late], ready(shards)
    assert "metadata/0 has not caught up with its leader yet" in found.missing()
    await found.caught_up(cast(Any, [late]))

    assert [r.levelno for r in caplog.records] == [logging.WARNING] * 2
    assert "1 shards have not caught up with their leaders: metadata/0" in caplog.messages[0]
    assert not any("caught up" in each for each in found.missing())


async def test_a_shard_whose_leader_says_what_it_committed_is_not_asked(
    shards: Shards, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readiness, "_UNTOLD_S", 0.05)
    found, silent = ready(shards), Replica(ShardId("kv", 0), timeouts=1)
    told = Replica(ShardId("kv", 1), timeouts=1)
    told.age_ms = 0
    await found.announced(cast(Any, [silent, told]))

    assert [each.id for each in await found.tried(cast(Any, [silent, told]))] == [silent.id]
