from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from quorate.groups.refusals import (
    LeaderlessError,
    ReadTimeoutError,
    UnknownShardError,
    UnreadableError,
)
from quorate.groups.routing import queries
from quorate.groups.routing.forwarding import AsOf, ForwardedQuery
from quorate.groups.routing.reads import ReadOptions
from quorate.plugin import Invalid, Rejected, Row
from quorate.plugin.catalog import Catalog
from quorate.plugin.shard_id import ShardId
from quorate.storage.engine.port import DamagedError

if TYPE_CHECKING:
    from core.tests.groups.routing.conftest import Cluster

NAME = "kit_sample.v1.ListNotes"


def fill(cluster: Cluster, pb: Any, *owners: str, node: str = "a") -> None:
    for number, named in enumerate(owners):
        shard = cluster.shard(number, node)
        shard.rows = [Row(b"", pb.Note(owner=each).SerializeToString(), 1) for each in named]
        shard.revision = 100 + number


def listed(cluster: Cluster, pb: Any, *, on: str = "a", **options: Any) -> str:
    async def read() -> str:
        found = cluster.nodes[on].groups.query(pb.ListNotes(), pb.Note, **options)
        return "".join([note.owner async for note in found])

    return cluster.run(read())


@pytest.mark.parametrize("asked", ["a", "b"])
def test_the_answers_of_all_shards_are_merged_in_order(
    cluster: Cluster, pb: Any, asked: str
) -> None:
    cluster.host(3)
    fill(cluster, pb, "adg", "beh", "cf")
    assert listed(cluster, pb, on=asked) == "abcdefgh"
    assert [cluster.shard(number).barriers for number in range(3)] == [1, 1, 1]
    assert cluster.shard().reads == {"sample.notes", "sample.sizes"}
    assert [node for node, _ in cluster.hops] == (["a"] * 3 if asked == "b" else [])


def test_a_query_with_a_shard_key_runs_on_its_shard_alone(
    cluster: Cluster, catalog: Catalog, pb: Any
) -> None:
    cluster.host(4)
    query = replace(catalog.queries[NAME], shard_key=lambda _: b"key", order=None)
    for node in cluster.nodes.values():
        node.groups._reads._catalog = replace(catalog, queries={NAME: query})  # type: ignore[misc]
    fill(cluster, pb, "a", "b", "c", "d")
    assert listed(cluster, pb) == "abcd"[cluster.slot_map.place("sample", b"key").number]


def test_a_stale_read_asks_nobody_and_says_how_old_it_is(cluster: Cluster, pb: Any) -> None:
    cluster.host(2)
    fill(cluster, pb, "a", "b")
    groups = cluster.nodes["a"].groups
    stale = ReadOptions(consistency="stale")
    answers = cluster.run(groups.read(pb.ListNotes(), pb.Note, stale))
    shards = [ShardId("sample", 0), ShardId("sample", 1)]
    assert answers.as_of == {shards[0]: AsOf(100, 40), shards[1]: AsOf(101, 40)}
    assert cluster.shard().barriers == 0
    answers = cluster.run(groups.read(pb.ListNotes(), pb.Note))
    assert answers.as_of == {shards[0]: AsOf(100, 0), shards[1]: AsOf(101, 0)}


def test_a_revision_is_waited_for_in_its_shard(cluster: Cluster, pb: Any) -> None:
    cluster.host(2)
    revisions = {ShardId("sample", 1): 55}
    listed(cluster, pb, consistency="stale", min_revision=revisions)
    assert (cluster.shard(0).waited, cluster.shard(1).waited) == ([], [55])
    # Which shard a number alone is of nobody knows: what is linearizable holds it.
    listed(cluster, pb, consistency="stale", min_revision=55)
    assert [cluster.shard(number).barriers for number in range(2)] == [1, 1]
    cluster.host(1)
    listed(cluster, pb, consistency="stale", min_revision=55)
    assert (cluster.shard().waited, cluster.shard().barriers) == ([55], 0)


def test_a_barrier_that_fails_fails_the_query(cluster: Cluster, pb: Any) -> None:
    cluster.host(2)
    cluster.shard(1).barrier_error = ReadTimeoutError("no majority")
    with pytest.raises(ReadTimeoutError, match="no majority"):
        listed(cluster, pb)


def test_a_replica_that_cannot_answer_is_passed_over(cluster: Cluster, pb: Any) -> None:
    cluster.host(1, "ab")
    fill(cluster, pb, "x", node="b")
    cluster.lost["a"] = UnreadableError("stopped")
    assert listed(cluster, pb, on="c") == "x"
    cluster.lost["b"] = UnreadableError("stopped too")
    with pytest.raises(ReadTimeoutError, match=r"sample/0 was read; .*stopped too"):
        listed(cluster, pb, on="c", timeout_s=3.0)


def test_unknown_is_told_apart(cluster: Cluster, pb: Any) -> None:
    with pytest.raises(UnknownShardError, match="group sample"):
        listed(cluster, pb)
    with pytest.raises(LookupError, match=r"query kit_sample\.v1\.Note is not declared"):
        cluster.run(cluster.nodes["a"].groups.read(pb.Note(), pb.Note))


def test_what_a_query_gives_is_bounded(
    cluster: Cluster, pb: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.host(1)
    fill(cluster, pb, "abc")
    monkeypatch.setattr(queries, "MAX_ROWS", 3)
    assert listed(cluster, pb) == "abc"
    monkeypatch.setattr(queries, "MAX_ROWS", 2)
    with pytest.raises(Rejected, match=r"OUT_OF_RANGE: .* more than 2 answers .* page by page"):
        listed(cluster, pb)
    monkeypatch.setattr(queries, "MAX_ROWS", 3)
    monkeypatch.setattr(queries, "MAX_BYTES", 8)
    with pytest.raises(Rejected, match="OUT_OF_RANGE"):
        listed(cluster, pb)


def test_damage_and_bugs_are_loud(cluster: Cluster, pb: Any) -> None:
    cluster.host(1)

    def broken(error: Exception) -> Iterator[Row]:
        yield Row(b"", b"", 1)
        raise error

    cluster.shard().rows = broken(DamagedError("block 7"))
    with pytest.raises(Rejected, match=r"DATA_LOSS: .* block 7"):
        listed(cluster, pb)
    cluster.shard().rows = broken(ZeroDivisionError("oh"))
    with pytest.raises(Rejected, match=r"INTERNAL: query .* failed with ZeroDivisionError: oh"):
        listed(cluster, pb)


@pytest.mark.parametrize("asked", ["a", "b"])
def test_answers_of_another_type_are_refused(cluster: Cluster, pb: Any, asked: str) -> None:
    cluster.host(1)
    fill(cluster, pb, "a")
    with pytest.raises(TypeError, match=r"with kit_sample\.v1\.Note; kit_sample\.v1\.WriteNote"):
        cluster.run(cluster.nodes[asked].groups.read(pb.ListNotes(), pb.WriteNote))


def test_what_is_forwarded_goes_no_second_hop(cluster: Cluster) -> None:
    cluster.host(1)
    asked = ForwardedQuery(
        shard=ShardId("sample", 0),
        type=NAME,
        payload=b"",
        row="kit_sample.v1.Note",
        consistency="stale",
        min_revision=0,
        caller="",
        timeout_s=1.0,
    )
    with pytest.raises(UnreadableError, match="no replica of shard sample/0"):
        cluster.run(cluster.nodes["b"].groups.accept_query(asked))
    wrong = replace(asked, shard=ShardId("kv", 0))
    with pytest.raises(Invalid, match=r"shard: .* was sent to kv/0"):
        cluster.run(cluster.nodes["a"].groups.accept_query(wrong))
    with pytest.raises(Invalid, match="type: no plugin"):
        cluster.run(cluster.nodes["a"].groups.accept_query(replace(asked, type="a.Stranger")))
    with pytest.raises(Invalid, match="query: its 1 bytes are no"):
        cluster.run(cluster.nodes["a"].groups.accept_query(replace(asked, payload=b"\xff")))
    assert cluster.hops == []


def test_a_replica_that_stops_under_a_read_leaves_it_to_another(cluster: Cluster, pb: Any) -> None:
    cluster.host(1, "ab")
    fill(cluster, pb, "a")
    fill(cluster, pb, "b", node="b")
    cluster.shard().barrier_error = UnreadableError("the replica stopped; ask another node")
    assert listed(cluster, pb) == "b"


@pytest.mark.parametrize("asked", ["a", "c"])
def test_a_query_is_given_up_where_no_replica_has_a_leader(
    cluster: Cluster, pb: Any, asked: str
) -> None:
    cluster.host(1, "ab")
    for node in "ab":
        cluster.shard(node=node).barrier_error = LeaderlessError(ShardId("sample", 0))
    with pytest.raises(LeaderlessError, match="too few of its nodes answer"):
        listed(cluster, pb, on=asked)
    assert cluster.shard(node="a").patient is False
    # A node with a replica has seen for itself; another one asks all that have.
    assert [node for node, _ in cluster.hops] == ([] if asked == "a" else ["a", "b"])
