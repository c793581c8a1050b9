"""The client and the command line against a real node: what they write, they read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import pytest
from click.testing import CliRunner
from quorate.client import Client, RejectedError
from quorate.testing.cluster import QUICK_ELECTIONS, Cluster
from quorate.testing.waiting import until
from quorate_storage_engine.cli import engine
from quorate_storage_engine.client import SyncEngines, claim_of
from quorate_storage_engine.v1.commands_pb2 import (
    CreateNextSegment,
    CreateShard,
    IsrMember,
    RecordSegmentStart,
    SealSegment,
    UpdateSegmentIsr,
)
from quorate_storage_engine.v1.queries_pb2 import SegmentId
from quorate_storage_engine.v1.rows_pb2 import (
    SEGMENT_STATUS_SEALED,
    SHARD_STATUS_DELETING,
    STORAGE_TYPE_SEGMENT,
    Segment,
    Shard,
    ShardConfig,
)
from quorate_storage_engine.v1.service_pb2 import (
    ListDropsRequest,
    ListSegmentsRequest,
    ListShardsRequest,
)

SETTINGS: Final[Mapping[str, Mapping[str, object]]] = {
    "timing": QUICK_ELECTIONS,
    "plugins": {"storage_engine": {"collection_interval_s": 0.1, "balance_interval_s": 3_600.0}},
}
#: Engines that fall silent only when a test says so.
TTL_MS: Final = 3_600_000

Row = Mapping[str, object]


@dataclass
class Screen:
    """Stands in for the host's console: it gives a client, and keeps the rows that it is given."""

    q: Client
    rows: Sequence[Row] = field(default_factory=list)

    def client(self) -> Client:
        return self.q

    def print(self, rows: Iterable[Row]) -> None:
        self.rows = list(rows)

    def run(self, *arguments: str, exit_code: int = 0, says: str = "") -> Sequence[Row]:
        self.rows = []
        result = CliRunner().invoke(engine, arguments, obj=self)
        assert result.exit_code == exit_code, (result.output, result.exception)
        assert says in result.output
        return self.rows


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A node with the engines a, b and c, each of which holds the segments of two shards."""
    directory = tmp_path_factory.mktemp("engines")
    with Cluster(directory, nodes=1, plugins=["storage_engine"], settings=SETTINGS) as cluster:
        cluster.ready()
        with Client(cluster.endpoints) as q:
            for name in "abc":
                q.brokers.register(name, "test", roles=["engine"], ttl_ms=TTL_MS)
            SyncEngines(q).create_shards([command("base-0"), command("base-1")])
        yield cluster


@pytest.fixture
def q(real: Cluster) -> Iterator[Client]:
    with Client(real.endpoints) as q:
        yield q


def command(name: str, *, replicas: int = 3, topic: str = "") -> CreateShard:
    config = ShardConfig(replicas=replicas, min_in_sync_replicas=1, storage=STORAGE_TYPE_SEGMENT)
    return CreateShard(name=name, tenant="acme", topic=topic, config=config)


def isr_update(q: Client, segment: Segment, engines: list[str]) -> UpdateSegmentIsr:
    """Return the command with which a leader makes these engines the in-sync ones."""
    update = UpdateSegmentIsr(
        shard=segment.shard,
        segment=segment.number,
        claim=claim_of(segment),
        segment_epoch=segment.segment_epoch,
    )
    for name in engines:
        broker = q.brokers.get(name)
        assert broker is not None
        update.isr.append(IsrMember(engine=name, broker_epoch=broker.epoch))
    return update


def remove(q: Client, *names: str) -> None:
    """Delete shards, have every engine drop what it is asked to, and wait until they are gone."""
    engines = SyncEngines(q)
    engines.delete_shards(names)

    def gone() -> bool | None:
        for state in list(engines.engines()):
            asked = list(engines.drops(ListDropsRequest(engine=state.engine.name)))
            engines.acknowledge_drops(state.engine.name, state.broker_epoch, asked)
        return None if any(engines.shard(name) for name in names) else True

    until(gone)


def led_by_another(q: Client, shard: str, former: str) -> Segment | None:
    """Return the first segment of a shard once somebody else leads it."""
    [found] = SyncEngines(q).get_segments([SegmentId(shard=shard)])
    return found if found.leader != former else None


def test_shards_are_made_read_listed_and_deleted(q: Client) -> None:
    engines = SyncEngines(q)
    made = engines.create_shard(command("one", topic="orders"))
    assert engines.create_shard(command("one", topic="orders")) == made
    assert engines.shard("one") == made
    assert engines.shard("none") is None
    reply = engines.create_shards(command(f"many-{at}", replicas=1) for at in range(3))
    assert (reply.items, len(reply.replies), list(reply.refusals)) == (3, 3, [])

    listed = engines.shards(ListShardsRequest(name_prefix="many-", page_size=1))
    assert [shard.name for shard in listed] == ["many-0", "many-1", "many-2"]
    assert [shard.name for shard in engines.shards(ListShardsRequest(topic="orders"))] == ["one"]
    with pytest.raises(RejectedError) as refused:
        engines.create_shard(command("one", topic="other"))
    assert refused.value.code == "SHARD_DIFFERS"

    assert engines.delete_shard("one").status == SHARD_STATUS_DELETING
    again = engines.delete_shards(["one", "none"])
    assert Shard.FromString(again.replies[0]).status == SHARD_STATUS_DELETING
    assert [(each.item, each.code) for each in again.refusals] == [(1, "SHARD_NOT_FOUND")]
    remove(q, "one", "many-0", "many-1", "many-2")


def test_more_items_than_a_command_takes_are_answered_as_one_batch(q: Client) -> None:
    refusals = SyncEngines(q).delete_shards(f"none-{at}" for at in range(1_001)).refusals

    assert [each.item for each in refusals] == list(range(1_001))
    assert "none-1000" in refusals[-1].message


def test_segments_follow_each_other(q: Client) -> None:
    engines = SyncEngines(q)
    first = engines.create_shard(command("rolls")).segment
    claim = claim_of(first)

    started = engines.record_segment_start(
        RecordSegmentStart(shard="rolls", start_timestamp_ms=5, claim=claim)
    )
    assert started.start_timestamp_ms == 5
    sealed = engines.seal_segment(SealSegment(shard="rolls", end_offset=9, claim=claim))
    assert sealed.status == SEGMENT_STATUS_SEALED
    state = engines.create_next_segment(CreateNextSegment(shard="rolls", end_offset=9, claim=claim))
    assert (state.segment.number, state.segment.start_offset) == (1, 9)

    ids = [SegmentId(shard="rolls", segment=number) for number in (1, 7, 0)]
    assert list(engines.get_segments(ids)) == [state.segment, sealed]
    listed = engines.segments(ListSegmentsRequest(shard="rolls", page_size=1))
    assert [segment.number for segment in listed] == [0, 1]
    assert set(engines.delete_segment("rolls", 0).drops) == {"a", "b", "c"}
    remove(q, "rolls")


def test_leaders_set_who_is_in_sync_and_are_given_back(q: Client) -> None:
    engines = SyncEngines(q)
    segment = engines.create_shard(command("leads")).segment
    preferred = segment.leader
    update = isr_update(q, segment, [preferred])
    assert list(engines.update_isr(update).isr) == [preferred]
    [refused] = engines.update_isrs([update]).refusals
    assert refused.code == "STALE_SEGMENT_EPOCH"
    thin = ListSegmentsRequest(shard="leads", under_replicated=True)
    [segment] = engines.segments(thin)
    engines.update_isr(isr_update(q, segment, list(segment.replicas)))
    assert list(engines.segments(thin)) == []

    q.brokers.register(preferred, "test", roles=["engine"], ttl_ms=TTL_MS)
    segment = until(lambda: led_by_another(q, "leads", preferred))
    engines.update_isr(isr_update(q, segment, list(segment.replicas)))
    [planned] = engines.balance_leaders(dry_run=True)
    assert (planned.leader, planned.preferred) == (segment.leader, preferred)
    assert list(engines.balance_leaders(most_moves=5)) == [planned]
    assert list(engines.balance_leaders(dry_run=True)) == []
    remove(q, "leads")


def test_an_engine_is_taken_out_of_service_and_put_back(q: Client) -> None:
    engines = SyncEngines(q)
    broker = q.brokers.register(
        "late", "test", roles=["engine"], labels={"rack": "r1"}, ttl_ms=TTL_MS
    )
    [marked] = engines.decommission(["late"])
    assert marked.decommissioned_at_ms > 0
    [state] = [state for state in engines.engines() if state.engine.name == "late"]
    assert (state.engine, state.broker_epoch, state.rack) == (marked, broker.epoch, "r1")
    [marked] = engines.recommission(["late"])
    assert marked.decommissioned_at_ms == 0
    with pytest.raises(RejectedError) as refused:
        engines.decommission(["nobody"])
    assert refused.value.code == "ENGINE_NOT_FOUND"
    q.brokers.unregister("late", broker.epoch)
    assert "late" not in [state.engine.name for state in engines.engines()]


def test_a_segment_that_nobody_leads_is_given_a_leader(q: Client) -> None:
    engines = SyncEngines(q)
    lone = q.brokers.register("lone", "test", roles=["engine"], ttl_ms=TTL_MS)
    # The others hold two segments each.
    assert engines.create_shard(command("alone", replicas=1)).segment.leader == "lone"
    q.brokers.unregister("lone", lone.epoch)
    unavailable = ListSegmentsRequest(unavailable=True)
    [segment] = until(lambda: list(engines.segments(unavailable)) or None)
    assert list(segment.last_known_isr) == ["lone"]
    lone = q.brokers.register("lone", "test", roles=["engine"], ttl_ms=TTL_MS)

    led = engines.force_leader("alone", 0, "lone", epoch=segment.segment_epoch)

    assert (led.leader, led.leader_broker_epoch) == ("lone", lone.epoch)
    remove(q, "alone")
    q.brokers.unregister("lone", lone.epoch)


def test_an_engine_is_told_what_to_drop_and_acknowledges_it(q: Client) -> None:
    engines = SyncEngines(q)
    engines.create_shard(command("gone"))
    engines.delete_shard("gone")
    drop = next(engines.asked_drops("b"))
    assert (drop.engine, drop.shard) == ("b", "gone")
    broker = q.brokers.get("b")
    assert broker is not None

    [refused] = engines.acknowledge_drops("b", broker.epoch + 1, [drop]).refusals
    assert refused.code == "STALE_BROKER_EPOCH"
    assert not engines.acknowledge_drops("b", broker.epoch, [drop]).refusals
    assert list(engines.drops(ListDropsRequest(engine="b"))) == []
    remaining = engines.drops(ListDropsRequest(page_size=1))
    assert [each.engine for each in remaining] == ["a", "c"]
    remove(q, "gone")


def test_shards_and_segments_are_shown(q: Client) -> None:
    screen, engines = Screen(q), SyncEngines(q)
    state = engines.create_shard(command("shown", topic="orders"))

    [row] = screen.run("shard", "list", "--tenant", "acme", "--topic", "orders")
    assert (row["name"], row["status"], row["replicas"], row["segments"]) == (
        "shown",
        "running",
        3,
        1,
    )
    assert [row["name"] for row in screen.run("shard", "list", "--prefix", "sh")] == ["shown"]
    few = screen.run("shard", "list", "--limit", "1", says="there are more than 1")
    assert [row["name"] for row in few] == ["base-0"]
    [row] = screen.run("segment", "list", "--shard", "shown", "--engine", "b")
    assert (row["status"], row["leader"]) == ("writing", state.segment.leader)
    assert row["replicas"] == row["in_sync"] == list(state.segment.replicas)
    assert (row["start_offset"], row["end_offset"]) == (0, None)
    assert screen.run("segment", "list", "--unavailable") == []
    assert screen.run("segment", "list", "--under-replicated", "--shard", "shown") == []
    remove(q, "shown")


def test_it_is_shown_who_is_in_sync_and_who_would_lead(q: Client) -> None:
    screen, engines = Screen(q), SyncEngines(q)
    segment = engines.create_shard(command("synced")).segment
    leader, second, third = segment.replicas
    segment = engines.update_isr(isr_update(q, segment, [leader, second]))

    rows = screen.run("replica", "list", "synced")
    assert [(row["engine"], row["state"]) for row in rows] == [
        (leader, "leader"),
        (second, "in-sync"),
        (third, "behind"),
    ]
    assert {row["segment_epoch"] for row in rows} == {segment.segment_epoch}
    assert screen.run("replica", "list", "synced", "0") == rows
    screen.run(
        "replica", "list", "synced", "7", exit_code=2, says="there is no segment 7 of synced"
    )
    screen.run("replica", "list", "none", exit_code=2, says="there is no engine shard none")
    assert screen.run("balance", "--dry-run") == []

    q.brokers.register(leader, "test", roles=["engine"], ttl_ms=TTL_MS)
    segment = until(lambda: led_by_another(q, "synced", leader))
    assert segment.leader == second
    engines.update_isr(isr_update(q, segment, list(segment.replicas)))
    moves = screen.run("balance", "--most", "3", "--dry-run")
    assert moves == [{"shard": "synced", "segment": 0, "from": second, "to": leader}]
    assert screen.run("balance") == moves
    assert next(iter(screen.run("replica", "list", "synced")))["state"] == "leader"
    remove(q, "synced")


def test_engines_are_shown_and_decommissioned(q: Client) -> None:
    screen = Screen(q)
    broker = q.brokers.register("leaves", "test", roles=["engine"], ttl_ms=TTL_MS)
    assert [row["engine"] for row in screen.run("list")] == ["a", "b", "c", "leaves"]

    screen.run("decommission", "leaves", exit_code=1, says="confirm with --yes")
    [row] = screen.run("decommission", "leaves", "--yes")
    assert row["replicas"] == 0
    assert row["decommissioned_at"]
    listed = screen.run("list")[-1]
    assert listed == {**row, "broker_epoch": broker.epoch, "rack": ""}
    assert screen.run("recommission", "leaves")[0]["decommissioned_at"] == ""
    q.brokers.unregister("leaves", broker.epoch)


def test_a_leader_is_forced_when_somebody_says_yes(q: Client) -> None:
    screen, engines = Screen(q), SyncEngines(q)
    broker = q.brokers.register("last", "test", roles=["engine"], ttl_ms=TTL_MS)
    engines.create_shard(command("left", replicas=1))
    q.brokers.unregister("last", broker.epoch)
    [row] = until(lambda: screen.run("segment", "list", "--unavailable") or None)
    assert (row["shard"], row["leader"]) == ("left", "")
    assert [row["state"] for row in screen.run("replica", "list", "left")] == ["last-known-in-sync"]
    broker = q.brokers.register("last", "test", roles=["engine"], ttl_ms=TTL_MS)

    screen.run("segment", "force-leader", "left", "0", "last", exit_code=1, says="are lost")
    [row] = screen.run("segment", "force-leader", "left", "0", "last", "--yes")
    assert (row["leader"], row["unclean_elections"]) == ("last", 0)
    screen.run(
        "segment", "force-leader", "left", "9", "last", exit_code=2, says="no segment 9 of left"
    )
    engines.delete_shard("left")
    [row] = until(lambda: screen.run("drop", "list", "--engine", "last") or None)
    assert (row["shard"], row["segment"]) == ("left", 0)
    assert screen.run("drop", "list", "--older-than", "3600") == []
    remove(q, "left")
    q.brokers.unregister("last", broker.epoch)
