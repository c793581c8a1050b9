from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from quorate.plugin import Invalid, Items, Query, Rejected, Row
from quorate.plugin.advanced import ShardAnswers
from quorate.plugin.catalog import Catalog
from quorate.plugin.shard_id import ShardId
from quorate.shards.refusals import (
    LeaderlessError,
    ReadTimeoutError,
    UnknownShardError,
    UnreadableError,
)
from quorate.shards.routing import queries
from quorate.shards.routing.forwarding import AsOf, ForwardedQuery
from quorate.shards.routing.queries import ReadOptions
from quorate.shards.routing.query_router import GRACE_S
from quorate.storage.engine.port import DamagedError

if TYPE_CHECKING:
    from core.tests.shards.routing.conftest import Cluster

NAME = "kit_sample.v1.ListNotes"


def fill(cluster: Cluster, pb: Any, *owners: str, node: str = "a") -> None:
    for number, named in enumerate(owners):
        shard = cluster.shard(number, node)
        shard.rows = [Row(b"", pb.Note(owner=each).SerializeToString(), 1) for each in named]
        shard.revision = 100 + number


def listed(cluster: Cluster, pb: Any, *, on: str = "a", **options: Any) -> str:
    async def read() -> str:
        found = cluster.nodes[on].groups.reads.query(pb.ListNotes(), pb.Note, **options)
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
        node.groups.reads._catalog = replace(catalog, queries={NAME: query})
    fill(cluster, pb, "a", "b", "c", "d")
    assert listed(cluster, pb) == "abcd"[cluster.slot_map.place("sample", b"key").number]


def test_a_stale_read_asks_nobody_and_says_how_old_it_is(cluster: Cluster, pb: Any) -> None:
    cluster.host(2)
    fill(cluster, pb, "a", "b")
    groups = cluster.nodes["a"].groups
    stale = ReadOptions(consistency="stale")
    answers = cluster.run(groups.reads.read(pb.ListNotes(), pb.Note, stale))
    shards = [ShardId("sample", 0), ShardId("sample", 1)]
    assert answers.as_of == {shards[0]: AsOf(100, 40), shards[1]: AsOf(101, 40)}
    assert cluster.shard().barriers == 0
    answers = cluster.run(groups.reads.read(pb.ListNotes(), pb.Note))
    assert answers.as_of == {shards[0]: AsOf(100, 0), shards[1]: AsOf(101, 0)}


def test_shards_are_read_again_while_files_are_published(cluster: Cluster, pb: Any) -> None:
    cluster.host(2)
    fill(cluster, pb, "a", "b")
    cluster.shard(0).publishing, cluster.shard(1).publishing = [0, 5], [5, 5]
    assert listed(cluster, pb) == "ab"
    assert [cluster.shard(number).barriers for number in range(2)] == [2, 2]
    # A shard may have had no part in the newest one: another read tells that.
    cluster.shard(0).publishing, cluster.shard(1).publishing = [5, 5, 5], [7, 8, 8]
    assert listed(cluster, pb) == "ab"
    assert [cluster.shard(number).barriers for number in range(2)] == [5, 5]


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
        cluster.run(cluster.nodes["a"].groups.reads.read(pb.Note(), pb.Note))


def test_what_a_query_gives_is_bounded(
    cluster: Cluster, pb: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.host(1)
    fill(cluster, pb, "abc")
    monkeypatch.setattr(queries, "MAX_ROWS", 3)
    assert listed(cluster, pb) == "abc"
    monkeypatch.setattr(queries, "MAX_ROWS", 2)
    with pytest.raises(Rejected, match=r"OUT_OF_RANGE: .* more than 2 answers .* request pages"):
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
        cluster.run(cluster.nodes[asked].groups.reads.read(pb.ListNotes(), pb.WriteNote))


def test_what_is_forwarded_goes_no_second_hop(cluster: Cluster) -> None:
    cluster.host(1)
    asked = ForwardedQuery(
        shard=ShardId("sample", 0),
        type=NAME,
        payload=b"",
        row="kit_sample.v1.Note",
        consistency="stale",
        min_revision=0,
        timeout_s=1.0,
    )
    with pytest.raises(UnreadableError, match="no replica of shard sample/0"):
        cluster.run(cluster.nodes["b"].groups.reads.accept(asked))
    wrong = replace(asked, shard=ShardId("kv", 0))
    with pytest.raises(Invalid, match=r"shard: .* was sent to kv/0"):
        cluster.run(cluster.nodes["a"].groups.reads.accept(wrong))
    with pytest.raises(Invalid, match="type: no plugin"):
        cluster.run(cluster.nodes["a"].groups.reads.accept(replace(asked, type="a.Stranger")))
    with pytest.raises(Invalid, match="query: its 1 bytes are no"):
        cluster.run(cluster.nodes["a"].groups.reads.accept(replace(asked, payload=b"\xff")))
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


def of_each(
    cluster: Cluster, pb: Any, query: Any = None, **options: Any
) -> list[ShardAnswers[Any]]:
    asked = query or pb.ListNotes()

    async def read() -> list[ShardAnswers[Any]]:
        found = cluster.nodes["a"].groups.reads.read_shards(asked, pb.Note, **options)
        return [each async for each in found]

    return cluster.run(read())


def told(answers: list[ShardAnswers[Any]]) -> list[tuple[int, str]]:
    """Return of each shard its number, and the owners or the code of its failure."""
    return [
        (each.shard, each.failure.code if each.failure else "".join(row.owner for row in each.rows))
        for each in answers
    ]


def silent(cluster: Cluster, number: int) -> list[asyncio.Future[int]]:
    """Let a shard not answer reads, and return the reads that wait for it."""
    waiting: list[asyncio.Future[int]] = []

    def read_barrier(*_: object, **__: object) -> asyncio.Future[int]:
        waiting.append(cluster.loop.create_future())
        return waiting[-1]

    cluster.shard(number).read_barrier = read_barrier  # type: ignore[method-assign]
    return waiting


def divided(cluster: Cluster, catalog: Catalog, pb: Any) -> None:
    """Let the query ask for keys, as many as its limit, and be answered with how many came."""
    query: Query[Any] = replace(
        catalog.queries[NAME],
        items=Items(
            get=lambda query: range(query.limit),
            shard_key=lambda item: f"key {item}".encode(),
            make=lambda _, items: pb.ListNotes(limit=len(items)),
        ),
        run=lambda _, query: [pb.Note(owner="n" * query.limit)],
    )
    for node in cluster.nodes.values():
        node.groups.reads._catalog = replace(catalog, queries={NAME: query})


def encoded(cluster: Cluster, catalog: Catalog, pb: Any) -> None:
    """Let the query ask for the bits of its limit, and answer each in its wire form."""

    def bits(query: Any) -> list[int]:
        return [bit for bit in range(16) if query.limit >> bit & 1]

    query: Query[Any] = replace(
        catalog.queries[NAME],
        row=pb.Note,
        items=Items(
            get=bits,
            shard_key=lambda bit: f"key {bit}".encode(),
            make=lambda _, items: pb.ListNotes(limit=sum(1 << bit for bit in items)),
        ),
        order=None,
        run=lambda _, query: [
            pb.Note(owner=chr(ord("a") + bit)).SerializeToString() for bit in bits(query)
        ],
    )
    for node in cluster.nodes.values():
        node.groups.reads._catalog = replace(catalog, queries={NAME: query})


@pytest.mark.parametrize("asked", ["a", "b"])
@pytest.mark.parametrize("shards", [1, 3])
def test_what_is_encoded_stays_so_and_comes_back_in_its_place(
    cluster: Cluster, catalog: Catalog, pb: Any, asked: str, shards: int
) -> None:
    cluster.host(shards)
    encoded(cluster, catalog, pb)
    groups, query = cluster.nodes[asked].groups, pb.ListNotes(limit=(1 << 16) - 1)

    rows = cluster.run(groups.reads.read(query, bytes)).rows
    notes = cluster.run(groups.reads.read(query, pb.Note)).rows

    assert [type(row) for row in rows] == [bytes] * 16
    assert [pb.Note.FromString(row) for row in rows] == notes
    assert "".join(note.owner for note in notes) == "abcdefghijklmnop"
    each = of_each(cluster, pb, query=query)
    assert {note.owner for answers in each for note in answers.rows} == set("abcdefghijklmnop")


@pytest.mark.parametrize("asked", ["a", "b"])
def test_what_is_encoded_is_asked_for_as_what_it_is(
    cluster: Cluster, catalog: Catalog, pb: Any, asked: str
) -> None:
    cluster.host(1)
    groups = cluster.nodes[asked].groups
    with pytest.raises(TypeError, match=r"ListNotes declares no row"):
        cluster.run(groups.reads.read(pb.ListNotes(), bytes))
    encoded(cluster, catalog, pb)
    with pytest.raises(TypeError, match=r"with kit_sample\.v1\.Note; kit_sample\.v1\.WriteNote"):
        cluster.run(groups.reads.read(pb.ListNotes(limit=1), pb.WriteNote))


def test_each_shard_is_answered_by_itself(cluster: Cluster, pb: Any) -> None:
    cluster.host(3)
    fill(cluster, pb, "a", "b", "c")
    assert told(of_each(cluster, pb)) == [(0, "a"), (1, "b"), (2, "c")]
    assert told(of_each(cluster, pb, shards=[2, 0])) == [(0, "a"), (2, "c")]
    assert [each.age_ms for each in of_each(cluster, pb)] == [0] * 3
    stale = of_each(cluster, pb, options=ReadOptions(consistency="stale"))
    assert [each.age_ms for each in stale] == [40] * 3
    with pytest.raises(UnknownShardError, match="sample/7"):
        of_each(cluster, pb, shards=[0, 7])


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (LeaderlessError(ShardId("sample", 0)), "UNAVAILABLE"),
        (ReadTimeoutError("no majority"), "DEADLINE_EXCEEDED"),
        (Rejected("DATA_LOSS", "block 7"), "DATA_LOSS"),
    ],
)
def test_a_shard_that_cannot_be_read_fails_alone_and_comes_last(
    cluster: Cluster, pb: Any, error: Exception, code: str
) -> None:
    cluster.host(3)
    fill(cluster, pb, "a", "b", "c")
    cluster.shard(0).barrier_error = error
    assert told(of_each(cluster, pb)) == [(1, "b"), (2, "c"), (0, code)]


def test_when_no_shard_can_be_read_that_is_raised_as_it_is(cluster: Cluster, pb: Any) -> None:
    cluster.host(2)
    for number in range(2):
        cluster.shard(number).barrier_error = LeaderlessError(ShardId("sample", number))
    with pytest.raises(LeaderlessError, match="sample/0"):
        of_each(cluster, pb)


def test_a_shard_that_is_silent_is_given_up_soon_after_the_others(
    cluster: Cluster, pb: Any
) -> None:
    cluster.host(2)
    fill(cluster, pb, "a", "b")
    waiting = silent(cluster, 0)
    times: list[tuple[int, float]] = []

    async def read() -> None:
        began = cluster.loop.time()
        async for each in cluster.nodes["a"].groups.reads.read_shards(pb.ListNotes(), pb.Note):
            times.append((each.shard, cluster.loop.time() - began))
            if each.shard == 0:
                assert each.failure is not None
                assert (each.failure.code, each.rows) == ("UNAVAILABLE", ())

    cluster.run(read())
    assert [shard for shard, _ in times] == [1, 0]
    assert [at_s for _, at_s in times] == pytest.approx([0.0, GRACE_S], abs=0.01)
    assert [each.cancelled() for each in waiting] == [True]


def test_a_silent_shard_is_waited_for_while_there_is_no_answer(cluster: Cluster, pb: Any) -> None:
    cluster.host(2)
    waiting = [*(silent(cluster, number) for number in range(2))]
    later = 20 * GRACE_S
    cluster.loop.call_later(later, lambda: waiting[1][0].set_result(0))
    cluster.loop.call_later(later + GRACE_S / 2, lambda: waiting[0][0].set_result(0))
    fill(cluster, pb, "a", "b")
    assert told(of_each(cluster, pb)) == [(1, "b"), (0, "a")]


def test_a_reader_that_takes_its_time_over_an_answer_loses_no_other(
    cluster: Cluster, pb: Any
) -> None:
    cluster.host(2)
    waiting = silent(cluster, 1)
    fill(cluster, pb, "a", "b")

    async def read() -> list[ShardAnswers[Any]]:
        found: list[ShardAnswers[Any]] = []
        async for each in cluster.nodes["a"].groups.reads.read_shards(pb.ListNotes(), pb.Note):
            found.append(each)
            if each.shard == 0:
                await asyncio.sleep(2 * GRACE_S)
                cluster.loop.call_later(GRACE_S / 2, lambda: waiting[0].set_result(0))
        return found

    assert told(cluster.run(read())) == [(0, "a"), (1, "b")]


def test_who_leaves_reads_of_shards_leaves_nothing_behind(cluster: Cluster, pb: Any) -> None:
    cluster.host(2)
    waiting = silent(cluster, 1)

    async def read() -> None:
        answers = cluster.nodes["a"].groups.reads.read_shards(pb.ListNotes(), pb.Note)
        async with aclosing(answers):  # type: ignore[type-var]
            async for _ in answers:
                break

    cluster.run(read())
    assert [each.cancelled() for each in waiting] == [True]


def test_a_query_with_items_asks_each_shard_for_its_own(
    cluster: Cluster, catalog: Catalog, pb: Any
) -> None:
    cluster.host(4)
    divided(cluster, catalog, pb)
    asked = pb.ListNotes(limit=10)
    held: dict[int, list[int]] = {}
    for item in range(10):
        place = cluster.slot_map.place("sample", f"key {item}".encode())
        held.setdefault(place.number, []).append(item)
    assert len(held) > 1

    async def each() -> list[ShardAnswers[Any]]:
        groups = cluster.nodes["a"].groups
        return [found async for found in groups.reads.read_shards(asked, pb.Note)]

    async def all() -> list[str]:
        return [note.owner async for note in cluster.nodes["b"].groups.reads.query(asked, pb.Note)]

    found = cluster.run(each())
    assert [(part.shard, list(part.positions)) for part in found] == sorted(held.items())
    assert [row.owner for part in found for row in part.rows] == [
        "n" * len(items) for _, items in sorted(held.items())
    ]
    assert cluster.run(all()) == sorted("n" * len(items) for items in held.values())
    assert sum(cluster.shard(number).barriers for number in range(4)) == 2 * len(held)
