"""The client: the same over a node in memory with four shards, and over a cluster."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any, cast
from unittest.mock import AsyncMock

import pytest
from quorate.client import (
    AsyncClient,
    Client,
    ClosedError,
    InvalidError,
    OutcomeUnknownError,
    RejectedError,
    UnavailableError,
    connect,
)
from quorate.testing.cluster import Cluster
from quorate.testing.waiting import until
from quorate.v1.batch_pb2 import BatchReply, ItemRefusal
from quorate.v1.tenant_pb2 import CreateTenant, Tenant
from quorate_offset.client import (
    Offsets,
    SubscriptionGroups,
    SyncOffsets,
    SyncSubscriptionGroups,
)
from quorate_offset.client.shards import Shards
from quorate_offset.families import GROUP, group_of
from quorate_offset.offsets import queries
from quorate_offset.v1.commands_pb2 import (
    COMMIT_MODE_MONOTONIC,
    AttributeChange,
    ForbiddenChange,
    GroupCommit,
    GroupFence,
    OffsetCommit,
    OffsetDeletion,
    OffsetList,
    PartitionOffset,
    SubscriptionGroupChange,
)
from quorate_offset.v1.service_pb2 import CommitOffsetsRequest, OffsetRefusal, ResetRequest

SHARDS = 4


@pytest.fixture(params=["memory", "cluster"])
async def q(request: pytest.FixtureRequest, tenant: str) -> AsyncIterator[AsyncClient]:
    if request.param == "memory":
        memory: AsyncClient = request.getfixturevalue("memory")
        await memory.execute(CreateTenant(name=tenant), Tenant)
        yield memory
        return
    async with connect(request.getfixturevalue("cluster").endpoints) as client:
        await client.execute(CreateTenant(name=tenant), Tenant)
        await known(client, tenant)
        yield client


async def known(client: AsyncClient, tenant: str) -> None:
    """Wait until every shard has heard of a tenant."""
    shards, offsets = Shards(client), Offsets(client)
    await shards.learn()
    names = {shards.of(tenant, f"probe {each}"): f"probe {each}" for each in range(64)}
    assert len(names) == SHARDS
    groups = [
        GroupCommit(tenant=tenant, group=name, commits=[OffsetCommit(topic="a", offset=1)])
        for name in names.values()
    ]
    async with asyncio.timeout(60):
        while (await offsets.commit_many(groups)).refusals:
            await asyncio.sleep(0.01)
    for group in groups:
        await offsets.delete_group(tenant, group.group)


async def test_commits_of_many_commands_are_divided_by_shard_before_they_are_sent(
    memory: AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    await memory.execute(CreateTenant(name="t"), Tenant)
    offsets, shards, execute_all = Offsets(memory), Shards(memory), memory.execute_all
    await shards.learn()
    sent: list[list[str]] = []

    async def heard(batches: Sequence[CommitOffsetsRequest], **more: Any) -> BatchReply:
        sent.extend([each.group for each in batch.groups] for batch in batches)
        return await execute_all(batches, **more)

    monkeypatch.setattr(memory, "execute_all", heard)
    commits = [OffsetCommit(topic="a", partition=each, offset=7) for each in range(1_000)]
    names = [f"g{each}" for each in range(24)]
    groups = [GroupCommit(tenant="t", group=name, commits=commits) for name in names]
    for wrong in (21, 2):
        groups[wrong] = GroupCommit(tenant="nobody", group=names[wrong], commits=commits)

    answered = await offsets.commit_many(groups)

    touched = [{shards.of(groups[int(name[1:])].tenant, name) for name in each} for each in sent]
    assert sorted(number for [number] in touched) == list(range(SHARDS))
    assert sorted(name for each in sent for name in each) == sorted(names)
    assert [(each.group, each.code) for each in answered.refusals] == [
        (2, "NOT_FOUND"),
        (21, "NOT_FOUND"),
    ]
    assert len((await offsets.fetch_group("t", "g23")).offsets) == 1_000

    sent.clear()
    await offsets.commit_many(groups[:9])
    assert len(sent) == 1, "what one command holds is divided by the queue, without asking where"


async def test_a_name_that_is_none_is_refused_before_anything_is_sent(
    memory: AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    offsets, silent = Offsets(memory), AsyncMock()
    monkeypatch.setattr(memory, "execute_all", silent)
    monkeypatch.setattr(memory, "execute", silent)
    monkeypatch.setattr(memory, "call", silent)
    for field, asked in (
        ("group", offsets.commit("nobody", "", "orders", 3, 42)),
        ("topic", offsets.commit("nobody", "readers", "", 3, 42)),
        ("tenant", offsets.fence("", "readers", 1)),
        ("topic", offsets.delete("nobody", "readers", "")),
        ("group", offsets.delete_group("nobody", "")),
    ):
        with pytest.raises(InvalidError, match=f"{field}: must not be empty"):
            await asked
    assert not silent.called


async def test_a_batch_names_the_group_that_is_none_before_the_tenant(memory: AsyncClient) -> None:
    commit = GroupCommit(tenant="nobody", commits=[OffsetCommit(topic="orders", offset=1)])

    [refusal] = (await Offsets(memory).commit_many([commit])).refusals

    assert (refusal.code, refusal.message) == ("INVALID_ARGUMENT", "group: must not be empty")


async def test_an_offset_is_committed_fetched_and_deleted(q: AsyncClient, tenant: str) -> None:
    offsets = Offsets(q)
    assert await offsets.fetch(tenant, "readers", "orders", 3) is None

    revision = await offsets.commit(tenant, "readers", "orders", 3, 42, metadata="here")
    assert revision > 0
    found = await offsets.fetch(tenant, "readers", "orders", 3, min_revision=revision)
    assert found is not None
    assert (found.topic, found.partition, found.offset) == ("orders", 3, 42)
    assert found.metadata == "here"
    assert found.committed_at_ms > 0

    await offsets.commit(tenant, "readers", "orders", 4, 1)
    await offsets.commit(tenant, "readers", "events", 0, 1)
    assert await offsets.delete(tenant, "readers", "orders", 3) == 1
    assert await offsets.delete(tenant, "readers", "orders", 3) == 0
    assert await offsets.delete(tenant, "readers", "orders") == 1
    assert await offsets.delete_group(tenant, "readers") == 1
    assert not (await offsets.fetch_group(tenant, "readers")).offsets


async def test_conditions_of_a_commit_refuse_it(q: AsyncClient, tenant: str) -> None:
    offsets = Offsets(q)
    await offsets.commit(tenant, "g", "x", 0, 10, expected_offset=-1)
    with pytest.raises(RejectedError) as mismatch:
        await offsets.commit(tenant, "g", "x", 0, 12, expected_offset=11)
    with pytest.raises(RejectedError) as behind:
        await offsets.commit(tenant, "g", "x", 0, 9, monotonic=True)
    await offsets.fence(tenant, "g", 5)
    with pytest.raises(RejectedError) as fenced:
        await offsets.commit(tenant, "g", "x", 0, 12, generation=4)
    with pytest.raises(RejectedError) as old:
        await offsets.fence(tenant, "g", 4)
    assert [each.value.code for each in (mismatch, behind, fenced, old)] == [
        "OFFSET_MISMATCH",
        "BEHIND",
        "FENCED",
        "FENCED",
    ]
    await offsets.commit(tenant, "g", "x", 0, 9, generation=5)
    found = await offsets.fetch(tenant, "g", "x", 0)
    assert found is not None
    assert found.offset == 9


async def test_many_groups_are_committed_and_answered_as_one(q: AsyncClient, tenant: str) -> None:
    offsets = Offsets(q)
    groups = [
        GroupCommit(
            tenant=tenant,
            group=f"g{number}",
            mode=COMMIT_MODE_MONOTONIC,
            commits=[
                OffsetCommit(topic="x", partition=partition, offset=number) for partition in (0, 1)
            ],
        )
        for number in range(50)
    ]
    first = await offsets.commit_many(groups)
    assert not first.refusals
    assert [each.shard for each in first.revisions] == list(range(SHARDS))

    groups[7].commits[1].offset = 1
    groups[9].tenant = "nobody"
    groups[30].commits[0].offset = -2
    second = await offsets.commit_many(groups)
    assert [
        (each.group, each.commit if each.HasField("commit") else None, each.code)
        for each in second.refusals
    ] == [(7, 1, "BEHIND"), (9, None, "NOT_FOUND"), (30, 0, "INVALID_ARGUMENT")]
    assert isinstance(second.refusals[0], OffsetRefusal)

    names = [(tenant, f"g{number}") for number in reversed(range(50))]
    found = await offsets.fetch_groups([*names, (tenant, "nothing")])
    assert [(each.tenant, each.group) for each in found] == [*names, (tenant, "nothing")]
    assert [each.offsets[0].offset for each in found[:-1]] == list(reversed(range(50)))
    assert not found[-1].offsets


async def test_groups_are_asked_of_the_leaders_of_their_shards(memory: Any, tenant: str) -> None:
    shards = Shards(memory)
    await shards.learn()
    names = [(tenant, f"g{number}") for number in range(2_500)]
    found = await Offsets(memory).fetch_groups(names)
    assert [(each.tenant, each.group) for each in found] == names
    asked = [key for name, key in memory.called if name == "FetchGroups"]
    assert sorted(shards.of(*group_of(key)) for key in asked) == list(range(SHARDS))


async def test_no_call_asks_for_too_many_groups(memory: Any, tenant: str) -> None:
    names = [(tenant, f"g{number}") for number in range(SHARDS * 1_000 + SHARDS)]
    assert len(await Offsets(memory).fetch_groups(names)) == len(names)
    assert len(memory.called) > SHARDS


async def test_shards_are_asked_side_by_side(
    memory: Any, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask, all_asked = memory.call, asyncio.Barrier(SHARDS)

    async def call(*arguments: Any, **others: Any) -> Any:
        await all_asked.wait()
        return await ask(*arguments, **others)

    monkeypatch.setattr(memory, "call", call)
    async with asyncio.timeout(60):
        await Offsets(memory).fetch_groups((tenant, f"g{number}") for number in range(100))


async def test_lists_go_on_page_by_page(memory: Any, tenant: str) -> None:
    await memory.execute(CreateTenant(name=tenant), Tenant)
    offsets, groups = Offsets(memory), SubscriptionGroups(memory)
    names = sorted(f"g{number}" for number in range(6_000))
    commits = [OffsetCommit(topic="x", offset=1)]
    made = [GroupCommit(tenant=tenant, group=name, commits=commits) for name in names]
    # Groups that are committed together have one revision, and are never on two pages.
    for first in range(0, len(made), 500):
        assert not (await offsets.commit_many(made[first : first + 500])).refusals
    assert [each.group async for each in offsets.states(tenant)] == names
    told = [each.group async for changes in offsets.changes_since() for each in changes.changes]
    assert sorted(told) == names

    put = await groups.put_many(
        SubscriptionGroupChange(tenant=tenant, group=name) for name in names[:1_500]
    )
    assert len(put.groups) == 1_500
    assert not put.refusals
    assert [each.group async for each in groups.list(tenant)] == names[:1_500]


async def test_many_groups_are_fenced_set_and_deleted(q: AsyncClient, tenant: str) -> None:
    offsets = Offsets(q)
    names = [f"g{number}" for number in range(12)]

    fences = [GroupFence(tenant=tenant, group=name, generation=2) for name in names]
    fenced = await offsets.fence_many([*fences, GroupFence(tenant=tenant, group="g0")])
    assert [(each.item, each.code) for each in fenced.refusals] == [(12, "INVALID_ARGUMENT")]
    assert len(fenced.revisions) > 1
    with pytest.raises(RejectedError) as stale:
        await offsets.commit(tenant, "g7", "a", 0, 1, generation=1)
    assert stale.value.code == "FENCED"

    listed = OffsetList(offsets=[PartitionOffset(topic="a", partition=n, offset=5) for n in (0, 1)])
    resets = [ResetRequest(tenant=tenant, group=name, to_offsets=listed) for name in names]
    reset = await offsets.reset_many([ResetRequest(tenant=tenant, group="g0"), *resets])
    assert list(reset.offsets) == [0, *[2] * 12]
    assert [(each.item, each.code) for each in reset.refusals] == [(0, "INVALID_ARGUMENT")]
    found = await offsets.fetch_groups((tenant, name) for name in names)
    assert {len(each.offsets) for each in found} == {2}

    deletions = [OffsetDeletion(tenant=tenant, group=name, topic="a") for name in names]
    deleted = await offsets.delete_many([*deletions, OffsetDeletion(tenant=tenant)])
    assert list(deleted.offsets) == [*[2] * 12, 0]
    assert [(each.item, each.code) for each in deleted.refusals] == [(12, "INVALID_ARGUMENT")]


async def test_more_groups_than_a_call_takes_are_fenced_set_and_deleted(
    memory: Any, tenant: str
) -> None:
    await memory.execute(CreateTenant(name=tenant), Tenant)
    offsets = Offsets(memory)
    names = [f"g{number}" for number in range(1_001)]
    wrong = f"g{1_000}"

    fences = [
        GroupFence(tenant=tenant, group=name, generation=int(name != wrong)) for name in names
    ]
    assert [each.item for each in (await offsets.fence_many(fences)).refusals] == [1_000]
    listed = OffsetList(offsets=[PartitionOffset(topic="a", offset=5)])
    resets = [ResetRequest(tenant=tenant, group=name, to_offsets=listed) for name in names]
    resets[1_000].ClearField("to_offsets")
    reset = await offsets.reset_many(resets)
    assert list(reset.offsets) == [*[1] * 1_000, 0]
    assert [each.item for each in reset.refusals] == [1_000]
    deletions = [OffsetDeletion(tenant=tenant, group=name) for name in names]
    assert list((await offsets.delete_many(deletions)).offsets) == [*[1] * 1_000, 0]


async def test_nothing_is_committed_and_fetched_without_a_call(q: AsyncClient, tenant: str) -> None:
    offsets = Offsets(q)
    assert not (await offsets.commit_many([])).revisions
    assert not (await offsets.fence_many([])).revisions
    assert not (await offsets.reset_many([])).revisions
    assert not (await offsets.delete_many([])).revisions
    assert await offsets.fetch_groups([]) == []


async def test_a_group_is_fetched_whole_by_topic_and_by_partitions(
    q: AsyncClient, tenant: str
) -> None:
    offsets = Offsets(q)
    for topic, partition in (("a", 0), ("a", 1), ("b", 0)):
        await offsets.commit(tenant, "g", topic, partition, 1)

    async def fetched(**chosen: Any) -> list[tuple[str, int]]:
        group = await offsets.fetch_group(tenant, "g", **chosen)
        return [(each.topic, each.partition) for each in group.offsets]

    assert await fetched() == [("a", 0), ("a", 1), ("b", 0)]
    assert await fetched(topic="a") == [("a", 0), ("a", 1)]
    assert await fetched(partitions=[("b", 0), ("a", 1), ("c", 0)]) == [("a", 1), ("b", 0)]


async def test_offsets_are_reset_in_three_ways(q: AsyncClient, tenant: str) -> None:
    offsets = Offsets(q)
    for partition in range(3):
        await offsets.commit(tenant, "g", "x", partition, 10 + partition)
    await offsets.commit(tenant, "g", "y", 0, 20)

    async def stands(group: str) -> list[int]:
        return [each.offset for each in (await offsets.fetch_group(tenant, group)).offsets]

    assert await offsets.reset(tenant, "g", to_offset=5, topic="x", partition=1) == 1
    assert await stands("g") == [10, 5, 12, 20]
    assert await offsets.reset(tenant, "g", to_offset=0, topic="x") == 3
    assert await stands("g") == [0, 0, 0, 20]
    assert await offsets.reset(tenant, "g", to_offsets={("x", 0): 7, ("z", 0): 8}) == 2
    assert await stands("g") == [7, 0, 0, 20, 8]
    assert await offsets.reset(tenant, "copy", to_group="g", generation=3) == 5
    assert await stands("copy") == await stands("g")
    with pytest.raises(RejectedError, match="FENCED"):
        await offsets.commit(tenant, "copy", "x", 0, 1, generation=2)
    with pytest.raises(RejectedError, match="FENCED"):
        await offsets.reset(tenant, "copy", to_offset=1, generation=2)


async def test_a_reset_has_one_target(q: AsyncClient, tenant: str) -> None:
    offsets = Offsets(q)
    for wrong in ({}, {"to_offset": 1, "to_group": "h"}):
        with pytest.raises(InvalidError, match="give one of"):
            await offsets.reset(tenant, "g", **cast("dict[str, Any]", wrong))
    with pytest.raises(InvalidError, match="names its topics"):
        await offsets.reset(tenant, "g", to_offsets={("x", 0): 1}, topic="x")


async def test_lag_is_told_against_given_ends(q: AsyncClient, tenant: str) -> None:
    offsets = Offsets(q)
    await offsets.commit(tenant, "g", "x", 0, 10)
    told = await offsets.lag(tenant, "g", {("x", 0): 15, ("x", 1): 7})
    assert [(each.partition, each.lag) for each in told.partitions] == [(0, 5), (1, 7)]
    assert told.partitions[0].offset == 10
    assert not told.partitions[1].HasField("offset")
    assert told.lag == 12


async def test_states_of_groups_are_told_and_listed(q: AsyncClient, tenant: str) -> None:
    offsets = Offsets(q)
    assert await offsets.state(tenant, "a1") is None
    revision = await offsets.commit(tenant, "a1", "x", 0, 10)
    await offsets.commit(tenant, "a2", "x", 0, 10, generation=4)
    await offsets.commit(tenant, "b1", "x", 0, 10)
    state = await offsets.state(tenant, "a1")
    assert state is not None
    assert (state.group, state.revision) == ("a1", revision)
    assert state.committed_at_ms > 0
    assert [each.group async for each in offsets.states(tenant)] == ["a1", "a2", "b1"]
    listed = [each async for each in offsets.states(tenant, prefix="a")]
    assert [(each.group, each.generation) for each in listed] == [("a1", 0), ("a2", 4)]


async def test_changes_are_told_behind_a_token(q: AsyncClient, tenant: str) -> None:
    offsets = Offsets(q)
    token: dict[int, int] = {}

    async def changed() -> dict[str, list[int] | None]:
        found: dict[str, list[int] | None] = {}
        async for changes in offsets.changes_since(token):
            for each in changes.changes:
                if each.tenant == tenant:
                    told = [offset.offset for offset in each.offsets]
                    found[each.group] = None if each.deleted else told
            token[changes.shard] = changes.revision
        return found

    await changed()
    for number in range(20):
        await offsets.commit(tenant, f"g{number}", "x", 0, number)
    assert await changed() == {f"g{number}": [number] for number in range(20)}
    assert await changed() == {}
    await offsets.commit(tenant, "g3", "x", 1, 33)
    await offsets.delete_group(tenant, "g4")
    assert await changed() == {"g3": [3, 33], "g4": None}


async def test_changes_of_a_shard_that_cannot_be_read_come_the_next_time(
    memory: Any, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "CHANGES_PAGE", 2)
    await memory.execute(CreateTenant(name=tenant), Tenant)
    offsets, shards = Offsets(memory), Shards(memory)
    await shards.learn()
    names = [f"g{number}" for number in range(20)]
    for name in names:
        await offsets.commit(tenant, name, "x", 0, 1)
    lost = {name for name in names if shards.of(tenant, name) == 1}
    memory.node.unreadable.add((GROUP, 1))
    token: dict[int, int] = {}
    failed: list[tuple[int, str]] = []

    async def changed() -> set[str]:
        found: set[str] = set()
        async for changes in offsets.changes_since(token):
            token[changes.shard] = changes.revision
            found.update(each.group for each in changes.changes)
            if changes.code:
                failed.append((changes.shard, changes.code))
        return found

    assert await changed() == set(names) - lost
    # It was asked once, however often the others were.
    assert failed == [(1, "UNAVAILABLE")]
    memory.node.unreadable.clear()
    assert await changed() == lost
    assert await changed() == set()


async def test_groups_of_a_shard_that_cannot_be_read_are_not_said_to_be_empty(
    memory: Any, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await memory.execute(CreateTenant(name=tenant), Tenant)
    offsets = Offsets(memory)
    names = [f"g{number}" for number in range(20)]
    for name in names:
        await offsets.commit(tenant, name, "x", 0, 1)
    memory.node.unreadable.add((GROUP, 1))
    # What the client knows of the shards is old: it takes all of them for one.
    monkeypatch.setattr(Shards, "of", lambda *_: 0)
    with pytest.raises(UnavailableError, match="offset/1 has no leader"):
        await offsets.fetch_groups((tenant, name) for name in names)


async def test_one_commit_whose_answer_was_not_kept_has_an_unknown_outcome(
    memory: Any, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def execute_all(batches: Any, **_: object) -> BatchReply:
        return BatchReply(items=1, forgotten=[0])

    monkeypatch.setattr(memory, "execute_all", execute_all)
    with pytest.raises(OutcomeUnknownError, match="no longer keeps the answer"):
        await Offsets(memory).commit(tenant, "g", "x", 0, 1, expected_offset=0)


async def test_groups_whose_answers_were_not_kept_are_named(
    memory: Any, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusal = ItemRefusal(item=2, code="FENCED", message="no")

    async def execute_all(batches: Any, **_: object) -> BatchReply:
        return BatchReply(items=3, refusals=[refusal], forgotten=[1])

    monkeypatch.setattr(memory, "execute_all", execute_all)
    offsets = Offsets(memory)
    fenced = await offsets.fence_many([GroupFence(tenant=tenant, group="g", generation=1)])
    deleted = await offsets.delete_many([OffsetDeletion(tenant=tenant, group="g")])

    for answer in (fenced, deleted):
        assert [(each.item, each.code) for each in answer.refusals] == [
            (1, "OUTCOME_UNKNOWN"),
            (2, "FENCED"),
        ]


async def test_a_subscription_group_whose_answer_was_not_kept_has_an_unknown_outcome(
    memory: Any, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def execute_all(batches: Any, **_: object) -> BatchReply:
        return BatchReply(items=1, forgotten=[0])

    monkeypatch.setattr(memory, "execute_all", execute_all)
    change = SubscriptionGroupChange(tenant=tenant, group="g")
    with pytest.raises(OutcomeUnknownError, match="no longer keeps the answer"):
        await SubscriptionGroups(memory).put(change)


async def test_a_committer_commits_to_all_shards(q: AsyncClient, tenant: str) -> None:
    offsets = Offsets(q)
    async with offsets.committer() as committer:
        for number in range(100):
            committer.mark(tenant, f"g{number}", "x", 0, number)
            committer.mark(tenant, f"g{number}", "x", 0, number + 1)
    assert committer.dirty == 0
    found = await offsets.fetch_groups((tenant, f"g{number}") for number in range(100))
    assert [each.offsets[0].offset for each in found] == list(range(1, 101))

    await offsets.fence(tenant, "g0", 9)
    async with offsets.committer() as committer:
        committer.mark(tenant, "g0", "x", 0, 50, generation=8)
        committer.mark(tenant, "g1", "x", 0, 1)
        [refused] = await committer.flush()
    assert (refused.pending.group, refused.code) == ("g0", "FENCED")
    assert [each.offset for each in (await offsets.fetch_group(tenant, "g1")).offsets] == [2]


async def test_a_committer_may_go_back_when_it_is_told_to(q: AsyncClient, tenant: str) -> None:
    offsets = Offsets(q)
    await offsets.commit(tenant, "g", "x", 0, 50)
    async with offsets.committer(monotonic=False) as committer:
        committer.mark(tenant, "g", "x", 0, 20)
    found = await offsets.fetch(tenant, "g", "x", 0)
    assert found is not None
    assert found.offset == 20


async def test_subscription_groups_are_put_listed_and_deleted(q: AsyncClient, tenant: str) -> None:
    groups = SubscriptionGroups(q)
    assert await groups.get(tenant, "g") is None
    made = await groups.put(
        SubscriptionGroupChange(
            tenant=tenant,
            group="g",
            consume_enable=False,
            attributes=[AttributeChange(name="+color", value="red")],
            forbidden=[ForbiddenChange(topic="x", set=2)],
        )
    )
    assert not made.unchanged
    assert (made.group.consume_enable, made.group.retry_max_times) == (False, 16)
    again = await groups.put(SubscriptionGroupChange(tenant=tenant, group="g"))
    assert again.unchanged
    found = await groups.get(tenant, "g")
    assert found is not None
    assert [(each.name, each.value) for each in found.attributes] == [("color", "red")]
    assert [(each.topic, each.bits) for each in found.forbidden] == [("x", 2)]

    many = await groups.put_many(
        [
            SubscriptionGroupChange(tenant=tenant, group="g"),
            SubscriptionGroupChange(tenant=tenant, group=""),
            SubscriptionGroupChange(tenant=tenant, group="h", retry_max_times=3),
        ]
    )
    assert [each.unchanged for each in many.groups] == [True, False, False]
    assert [(each.item, each.code) for each in many.refusals] == [(1, "INVALID_ARGUMENT")]
    assert [each.group async for each in groups.list(tenant)] == ["g", "h"]

    await groups.delete(tenant, "g")
    with pytest.raises(RejectedError, match="NOT_FOUND"):
        await groups.delete(tenant, "g")
    with pytest.raises(RejectedError, match="INVALID_ARGUMENT"):
        await groups.put(SubscriptionGroupChange(tenant=tenant, group=""))


def test_the_twins_do_the_same(cluster: Cluster) -> None:
    with Client(cluster.endpoints) as q:
        q.execute(CreateTenant(name="twins"), Tenant)
        offsets = SyncOffsets(q)
        first = GroupCommit(tenant="twins", group="g", commits=[OffsetCommit(topic="x", offset=1)])
        until(lambda: not offsets.commit_many([first]).refusals)
        offsets.commit("twins", "g", "x", 1, 5)
        assert offsets.fence("twins", "g", 1) > 0
        assert [each.offset for each in offsets.fetch_group("twins", "g").offsets] == [1, 5]
        assert offsets.lag("twins", "g", {("x", 1): 7}).lag == 2
        assert [each.group for each in offsets.states("twins")] == ["g"]
        told = [each.group for changes in offsets.changes_since() for each in changes.changes]
        assert "g" in told

        with offsets.committer() as committer:
            committer.mark("twins", "g", "x", 0, 2)
            assert committer.flush() == []
            assert committer.dirty == 0
            committer.mark("twins", "g", "x", 0, 3)
        found = offsets.fetch("twins", "g", "x", 0)
        assert found is not None
        assert found.offset == 3

        def fenced() -> None:
            offsets.fence("twins", "g", 7)
            with offsets.committer() as committer:
                committer.mark("twins", "g", "x", 0, 4, generation=6)

        with pytest.raises(RejectedError, match="FENCED"):
            fenced()

        groups = SyncSubscriptionGroups(q)
        groups.put(SubscriptionGroupChange(tenant="twins", group="g"))
        assert [each.group for each in groups.list("twins")] == ["g"]


def test_a_committer_of_a_closed_client_takes_nothing(cluster: Cluster) -> None:
    with Client(cluster.endpoints) as q:
        committer = SyncOffsets(q).committer()
    for _ in range(2):
        with pytest.raises(ClosedError):
            committer.mark("t", "g", "x", 0, 1)
    with pytest.raises(ClosedError):
        committer.flush()
    assert committer.dirty == 0


def test_every_method_has_a_twin() -> None:
    for asynchronous, twin in (
        (Offsets, SyncOffsets),
        (SubscriptionGroups, SyncSubscriptionGroups),
    ):
        methods = {name for name in vars(asynchronous) if not name.startswith("_")}
        assert methods == {name for name in vars(twin) if not name.startswith("_")}
