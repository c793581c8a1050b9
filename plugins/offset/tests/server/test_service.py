"""The services over several shards, as callers use them."""

from asyncio import run
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from quorate.plugin import Invalid, Rejected
from quorate.plugin.slots import slot_of
from quorate.testing import MemoryNode
from quorate.v1.batch_pb2 import ShardRevision
from quorate_offset.families import OFFSETS, group_key
from quorate_offset.offsets import queries
from quorate_offset.offsets.service import OFFSET, OffsetService
from quorate_offset.offsets.validation import MOST_GROUPS, MOST_OFFSETS
from quorate_offset.v1.commands_pb2 import (
    COMMIT_MODE_MONOTONIC,
    GroupCommit,
    GroupFence,
    OffsetCommit,
    OffsetDeletion,
    PartitionOffset,
    ResetToOffset,
    SubscriptionGroupChange,
    SubscriptionGroupDeletion,
)
from quorate_offset.v1.queries_pb2 import GroupName, GroupOffsets, ShardChanges, TopicPartition
from quorate_offset.v1.service_pb2 import (
    CommitOffsetRequest,
    CommitOffsetsRequest,
    CommitOffsetsResponse,
    DeleteOffsetsRequest,
    FenceGroupRequest,
    FenceGroupsRequest,
    FetchGroupsRequest,
    FetchOffsetsRequest,
    GetGroupStateRequest,
    LagRequest,
    ListChangesRequest,
    ListGroupStatesRequest,
    ResetOffsetsRequest,
    ResetRequest,
    ResetToGroup,
)
from quorate_offset.v1.subscription_group_service_pb2 import (
    DeleteGroupsRequest,
    GetGroupRequest,
    ListGroupsRequest,
    PutGroupsRequest,
)

GROUPS = [f"group-{number:02}" for number in range(20)]
SHARDS = 4


@pytest.fixture
def service(node: MemoryNode) -> OffsetService:
    servicer = node.servicer(OFFSET.full_name)
    assert isinstance(servicer, OffsetService)
    return servicer


@pytest.fixture
def subscriptions(node: MemoryNode) -> Any:
    return node.servicer("quorate_offset.v1.SubscriptionGroupService")


def shard_of(group: str) -> int:
    return slot_of(group_key("acme", group)) * SHARDS // 1_024


def item(group: str, *offsets: int, tenant: str = "acme", **more: Any) -> GroupCommit:
    """Offsets of the partitions of topic `t`, from partition 0 on."""
    commits = [
        OffsetCommit(topic="t", partition=partition, offset=offset)
        for partition, offset in enumerate(offsets)
    ]
    return GroupCommit(tenant=tenant, group=group, commits=commits, **more)


def commit(service: OffsetService, *groups: GroupCommit) -> CommitOffsetsResponse:
    return run(service.CommitOffsets(CommitOffsetsRequest(groups=groups), None))


def fetched(service: OffsetService, group: str, **filters: Any) -> list[int]:
    request = FetchOffsetsRequest(tenant="acme", group=group, **filters)
    return [each.offset for each in run(service.FetchOffsets(request, None)).group.offsets]


def changes(
    service: OffsetService, since: list[ShardRevision], limit: int = 0, shards: Sequence[int] = ()
) -> list[ShardChanges]:
    async def read() -> list[ShardChanges]:
        request = ListChangesRequest(since=since, limit=limit, shards=shards)
        return [answer async for answer in service.ListChanges(request, None)]

    return run(read())


def token(answers: list[ShardChanges]) -> list[ShardRevision]:
    return [ShardRevision(shard=each.shard, revision=each.revision) for each in answers]


def test_one_call_is_split_over_shards_and_answered_as_one(
    service: OffsetService, node: MemoryNode
) -> None:
    assert {shard_of(group) for group in GROUPS} == set(range(SHARDS))
    asked = [item(group, 7, -1 if group.endswith("5") else 8) for group in GROUPS]
    asked[3].tenant = "strange"

    response = commit(service, *asked)

    found = [
        (each.group, each.commit if each.HasField("commit") else None, each.code)
        for each in response.refusals
    ]
    assert found == [
        (3, None, "NOT_FOUND"),
        (5, 1, "INVALID_ARGUMENT"),
        (15, 1, "INVALID_ARGUMENT"),
    ]
    assert [each.shard for each in response.revisions] == list(range(SHARDS))
    assert len(node.rows(OFFSETS)) == 2 * len(GROUPS) - 4
    assert node.metrics == {
        'quorate_offset_commits_total{outcome="committed"}': 36,
        'quorate_offset_commits_total{outcome="refused"}': 4,
    }


def test_ten_thousand_offsets_of_many_groups_are_answered_in_one_call(
    service: OffsetService, node: MemoryNode
) -> None:
    asked = [item(f"g{number}", *range(5)) for number in range(2_000)]
    asked[1_234].commits[2].offset = -1

    response = commit(service, *asked)

    assert [(each.group, each.commit) for each in response.refusals] == [(1_234, 2)]
    assert len(node.rows(OFFSETS)) == 9_999


def test_a_call_with_too_many_offsets_is_refused(service: OffsetService, node: MemoryNode) -> None:
    groups = [item("g", *range(6_000)), item("h", *range(4_001))]
    before = list(node.proposals)
    with pytest.raises(Invalid, match="10001 offsets; at most 10000"):
        commit(service, *groups)
    assert node.proposals == before


def test_one_offset_is_committed_with_its_revision(service: OffsetService) -> None:
    request = CommitOffsetRequest(
        tenant="acme",
        group="billing",
        commit=OffsetCommit(topic="t", partition=3, offset=9),
        mode=COMMIT_MODE_MONOTONIC,
        generation=2,
    )

    revision = run(service.CommitOffset(request, None)).revision

    state = run(service.GetGroupState(GetGroupStateRequest(tenant="acme", group="billing"), None))
    assert (state.shard, state.revision) == (revision.shard, revision.revision)
    assert (state.generation, state.committed_at_ms) == (2, 1_000)
    for change, code in (("offset", "BEHIND"), ("generation", "FENCED")):
        worse = CommitOffsetRequest.FromString(request.SerializeToString())
        if change == "offset":
            worse.commit.offset = 8
        else:
            worse.generation = 1
        with pytest.raises(Rejected, match=code):
            run(service.CommitOffset(worse, None))


def test_a_group_is_fetched_whole_or_in_part(service: OffsetService) -> None:
    commit(service, item("billing", 5, 6, 7), item("audit", 1))
    other = GroupCommit(tenant="acme", group="billing", commits=[OffsetCommit(topic="u", offset=4)])
    commit(service, other)

    assert fetched(service, "billing") == [5, 6, 7, 4]
    assert fetched(service, "billing", topic="t") == [5, 6, 7]
    wanted = [TopicPartition(topic="u"), TopicPartition(topic="t", partition=2)]
    assert fetched(service, "billing", partitions=[*wanted, *wanted]) == [7, 4]
    assert fetched(service, "billing", partitions=[TopicPartition(topic="x")]) == []
    assert fetched(service, "nobody") == []
    assert fetched(service, "billing", stale=True) == [5, 6, 7, 4]


@pytest.mark.parametrize("together", [1, 2, 3, 2_000])
def test_a_large_group_comes_in_parts_and_whole(
    service: OffsetService, together: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "MOST_TOGETHER", together)
    commit(service, item("billing", 5, 6, 7))

    assert fetched(service, "billing") == [5, 6, 7]


def test_many_groups_are_fetched_in_the_order_of_the_request(service: OffsetService) -> None:
    commit(service, *(item(group, number) for number, group in enumerate(GROUPS)))
    wanted = [*reversed(GROUPS), "nobody", GROUPS[0]]
    request = FetchGroupsRequest(groups=[GroupName(tenant="acme", group=each) for each in wanted])

    found: list[GroupOffsets] = list(run(service.FetchGroups(request, None)).groups)

    assert [each.group for each in found] == wanted
    offsets = [[each.offset for each in group.offsets] for group in found]
    assert offsets == [*([number] for number in reversed(range(20))), [], [0]]


@pytest.mark.parametrize("together", [1, 2, 2_000])
def test_a_large_group_that_is_named_twice_is_told_twice(
    service: OffsetService, together: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "MOST_TOGETHER", together)
    commit(service, item("billing", 5, 6, 7))
    request = FetchGroupsRequest(groups=[GroupName(tenant="acme", group="billing")] * 2)

    found = run(service.FetchGroups(request, None)).groups

    assert [[each.offset for each in group.offsets] for group in found] == [[5, 6, 7]] * 2


@pytest.mark.parametrize("stale", [False, True])
def test_groups_of_a_shard_that_cannot_be_read_are_refused_alone(
    service: OffsetService, node: MemoryNode, stale: bool
) -> None:
    commit(service, *(item(group, number) for number, group in enumerate(GROUPS)))
    node.unreadable.add(("offset", 2))
    wanted = [*GROUPS, "nobody", GROUPS[0]]
    request = FetchGroupsRequest(
        groups=[GroupName(tenant="acme", group=each) for each in wanted], stale=stale
    )

    response = run(service.FetchGroups(request, None))

    lost = [position for position, group in enumerate(wanted) if shard_of(group) == 2]
    assert 0 < len(lost) < len(GROUPS)
    assert [(each.item, each.code) for each in response.refusals] == [
        (position, "UNAVAILABLE") for position in lost
    ]
    assert "offset/2 has no leader" in response.refusals[0].message
    assert [each.group for each in response.groups] == wanted
    for position, group in enumerate(response.groups):
        known = position not in lost and group.group in GROUPS
        offsets = [GROUPS.index(group.group)] if known else []
        assert [each.offset for each in group.offsets] == offsets


def test_groups_of_shards_that_can_be_read_miss_nothing_of_another(
    service: OffsetService, node: MemoryNode
) -> None:
    commit(service, *(item(group, number) for number, group in enumerate(GROUPS)))
    node.unreadable.add(("offset", 2))
    by_shard = {shard: [each for each in GROUPS if shard_of(each) == shard] for shard in (1, 2)}
    groups = [GroupName(tenant="acme", group=each) for each in by_shard[1]]

    assert not run(service.FetchGroups(FetchGroupsRequest(groups=groups), None)).refusals

    groups = [GroupName(tenant="acme", group=each) for each in by_shard[2]]
    with pytest.raises(Exception, match="offset/2 has no leader"):
        run(service.FetchGroups(FetchGroupsRequest(groups=groups), None))


def test_lag_is_told_against_the_ends_of_the_caller(service: OffsetService) -> None:
    commit(service, item("billing", 5, 6))
    ends = [
        PartitionOffset(topic="t", partition=1, offset=10),
        PartitionOffset(topic="t", partition=0, offset=3),
        PartitionOffset(topic="u", partition=0, offset=8),
    ]

    response = run(service.Lag(LagRequest(tenant="acme", group="billing", ends=ends), None))

    assert [each.lag for each in response.partitions] == [4, 0, 8]
    assert [each.HasField("offset") for each in response.partitions] == [True, True, False]
    assert response.lag == 12


def test_a_reset_can_copy_another_groups_offsets_from_any_shard(service: OffsetService) -> None:
    target = next(each for each in GROUPS if shard_of(each) != shard_of("source"))
    commit(service, item("source", 5, 6, 7), item(target, 100, 100, 100))
    resets = [
        ResetRequest(tenant="acme", group=target, to_group=ResetToGroup(group="nobody")),
        ResetRequest(
            tenant="acme",
            group=target,
            to_group=ResetToGroup(group="source", topic="t", partition=1),
        ),
        ResetRequest(tenant="acme", group="fresh", to_group=ResetToGroup(group="source")),
        ResetRequest(tenant="acme", group="empty", to_offset=ResetToOffset(offset=1)),
        ResetRequest(tenant="acme", group="x", to_group=ResetToGroup(group="source", partition=1)),
        ResetRequest(tenant="acme", group="x", to_group=ResetToGroup(group="")),
        ResetRequest(tenant="acme", group="x"),
    ]

    response = run(service.ResetOffsets(ResetOffsetsRequest(resets=resets), None))

    assert list(response.offsets) == [0, 1, 3, 0, 0, 0, 0]
    assert [(each.item, each.code) for each in response.refusals] == [
        (0, "NOT_FOUND"),
        (3, "NOT_FOUND"),
        (4, "INVALID_ARGUMENT"),
        (5, "INVALID_ARGUMENT"),
        (6, "INVALID_ARGUMENT"),
    ]
    assert fetched(service, target) == [100, 6, 100]
    assert fetched(service, "fresh") == [5, 6, 7]


def test_a_reset_is_refused_when_what_it_copies_cannot_be_read(
    service: OffsetService, node: MemoryNode
) -> None:
    commit(service, *(item(group, 7) for group in GROUPS))
    lost, known = (next(each for each in GROUPS if shard_of(each) == shard) for shard in (2, 1))
    node.unreadable.add(("offset", 2))
    resets = [
        ResetRequest(tenant="acme", group="a", to_group=ResetToGroup(group=lost)),
        ResetRequest(tenant="acme", group="b", to_group=ResetToGroup(group=known)),
        ResetRequest(tenant="acme", group="c", to_group=ResetToGroup(group=lost)),
    ]

    response = run(service.ResetOffsets(ResetOffsetsRequest(resets=resets), None))

    assert [(each.item, each.code) for each in response.refusals] == [
        (0, "UNAVAILABLE"),
        (2, "UNAVAILABLE"),
    ]
    assert list(response.offsets) == [0, 1, 0]
    assert fetched(service, "b") == [7]


def test_resets_that_cannot_be_made_up_are_proposed_to_nobody(
    service: OffsetService, node: MemoryNode
) -> None:
    before = len(node.proposals)
    reset = ResetRequest(tenant="acme", group="x", to_group=ResetToGroup(group="nobody"))

    response = run(service.ResetOffsets(ResetOffsetsRequest(resets=[reset]), None))

    assert [each.code for each in response.refusals] == ["NOT_FOUND"]
    assert len(node.proposals) == before


def test_groups_are_fenced_one_or_many(service: OffsetService) -> None:
    request = FenceGroupRequest(tenant="acme", group="billing", generation=3)
    assert run(service.FenceGroup(request, None)).revision.revision
    fences = [
        GroupFence(tenant="acme", group="billing", generation=2),
        GroupFence(tenant="acme", group="audit", generation=2),
    ]

    response = run(service.FenceGroups(FenceGroupsRequest(fences=fences), None))

    assert [(each.item, each.code) for each in response.refusals] == [(0, "FENCED")]
    request.generation = 1
    with pytest.raises(Rejected, match="FENCED"):
        run(service.FenceGroup(request, None))


def test_deletions_tell_how_many_offsets_went(service: OffsetService) -> None:
    commit(service, item("billing", 5, 6), item("audit", 1))
    deletions = [
        OffsetDeletion(tenant="acme", group="billing", topic="t", partition=0),
        OffsetDeletion(tenant="acme"),
        OffsetDeletion(tenant="acme", group="audit"),
    ]

    response = run(service.DeleteOffsets(DeleteOffsetsRequest(deletions=deletions), None))

    assert list(response.offsets) == [1, 0, 1]
    assert [(each.item, each.code) for each in response.refusals] == [(1, "INVALID_ARGUMENT")]
    assert fetched(service, "billing") == [6]
    with pytest.raises(Rejected, match="NOT_FOUND: tenant acme has no group audit"):
        run(service.GetGroupState(GetGroupStateRequest(tenant="acme", group="audit"), None))


@pytest.mark.parametrize("size", [1, 3, 7, 100])
def test_pages_hold_every_group_once_and_in_order(
    service: OffsetService, subscriptions: Any, size: int
) -> None:
    commit(service, *(item(group, 1) for group in reversed(GROUPS)), item("other", 1))
    deleted = [OffsetDeletion(tenant="acme", group=GROUPS[4])]
    run(service.DeleteOffsets(DeleteOffsetsRequest(deletions=deleted), None))
    wanted = [SubscriptionGroupChange(tenant="acme", group=group) for group in GROUPS]
    run(subscriptions.PutGroups(PutGroupsRequest(groups=wanted), None))

    states: list[str] = []
    pages = ListGroupStatesRequest(tenant="acme", prefix="group", page_size=size)
    while True:
        page = run(service.ListGroupStates(pages, None))
        states += [each.group for each in page.groups]
        if not page.next_page_token:
            break
        pages.page_token = page.next_page_token
    listed: list[str] = []
    following = ListGroupsRequest(page_size=size)
    while True:
        answer = run(subscriptions.ListGroups(following, None))
        listed += [each.group for each in answer.groups]
        if not answer.next_page_token:
            break
        following.page_token = answer.next_page_token

    assert states == [group for group in GROUPS if group != GROUPS[4]]
    assert listed == GROUPS


def test_subscription_groups_are_put_read_and_deleted(
    subscriptions: Any,
) -> None:
    puts = [
        SubscriptionGroupChange(tenant="acme", group="a", retry_max_times=2),
        SubscriptionGroupChange(tenant="strange", group="b"),
        SubscriptionGroupChange(tenant="acme", group="c"),
    ]
    response = run(subscriptions.PutGroups(PutGroupsRequest(groups=puts), None))

    assert [each.group.group for each in response.groups] == ["a", "", "c"]
    assert [(each.item, each.code) for each in response.refusals] == [(1, "NOT_FOUND")]
    get = GetGroupRequest(tenant="acme", group="a")
    assert run(subscriptions.GetGroup(get, None)).retry_max_times == 2
    deletion = SubscriptionGroupDeletion(tenant="acme", group="a")
    request = DeleteGroupsRequest(deletions=[deletion])
    assert not run(subscriptions.DeleteGroups(request, None)).refusals
    with pytest.raises(Rejected, match="NOT_FOUND"):
        run(subscriptions.GetGroup(get, None))


def test_changes_behind_a_token_are_those_that_moved_and_no_others(
    service: OffsetService, node: MemoryNode
) -> None:
    commit(service, *(item(group, 1, 2) for group in GROUPS))
    first = changes(service, [])
    assert sorted(each.group for shard in first for each in shard.changes) == GROUPS
    assert not changes_of(changes(service, token(first)))

    commit(service, item(GROUPS[3], 5))
    deleted = [OffsetDeletion(tenant="acme", group=GROUPS[8])]
    run(service.DeleteOffsets(DeleteOffsetsRequest(deletions=deleted), None))
    rows_before = node.metrics["quorate_offset_sync_rows_read_total"]
    second = changes(service, token(first))

    found = {each.group: each for each in changes_of(second)}
    assert set(found) == {GROUPS[3], GROUPS[8]}
    assert [each.offset for each in found[GROUPS[3]].offsets] == [5, 2]
    assert found[GROUPS[8]].deleted
    # One row of the index and one mark a group, and the offsets of the one that has some.
    assert node.metrics["quorate_offset_sync_rows_read_total"] - rows_before == 6
    assert node.metrics["quorate_offset_sync_groups_total"] == len(GROUPS) + 2
    assert not any(each.resync or each.more for each in second)


def changes_of(answers: list[ShardChanges]) -> list[Any]:
    return [change for answer in answers for change in answer.changes]


def test_a_shard_that_cannot_be_read_keeps_its_place_in_the_token(
    service: OffsetService, node: MemoryNode
) -> None:
    commit(service, *(item(group, 1) for group in GROUPS))
    first = changes(service, [])
    commit(service, *(item(group, 2) for group in GROUPS))
    node.unreadable.add(("offset", 2))

    second = changes(service, token(first))

    assert [(each.shard, each.code) for each in second] == [
        (0, ""),
        (1, ""),
        (3, ""),
        (2, "UNAVAILABLE"),
    ]
    assert "offset/2 has no leader" in second[-1].message
    assert (second[-1].revision, list(second[-1].changes)) == (
        next(each.revision for each in first if each.shard == 2),
        [],
    )
    told = {each.group for each in changes_of(second)}
    assert told == {each for each in GROUPS if shard_of(each) != 2}
    unknown = changes(service, [])[-1]
    assert (unknown.shard, unknown.code, unknown.revision) == (2, "UNAVAILABLE", 0)

    node.unreadable.clear()
    third = changes(service, token(second))
    assert {each.group for each in changes_of(third)} == set(GROUPS) - told
    assert not changes_of(changes(service, token(third)))


def test_changes_of_some_shards_are_read_there_alone(
    service: OffsetService, node: MemoryNode
) -> None:
    commit(service, *(item(group, 1) for group in GROUPS))
    node.unreadable.add(("offset", 2))

    answers = changes(service, [], shards=[3, 1])

    assert [(each.shard, each.code) for each in answers] == [(1, ""), (3, "")]
    assert {shard_of(each.group) for each in changes_of(answers)} == {1, 3}
    with pytest.raises(Exception, match="offset/9"):
        changes(service, [], shards=[1, 9])


@pytest.mark.parametrize("limit", [1, 2, 3, 50])
def test_pages_of_changes_lead_to_the_end_with_every_group_once(
    service: OffsetService, limit: int
) -> None:
    for start in range(0, len(GROUPS), 4):
        commit(service, *(item(group, 1) for group in GROUPS[start : start + 4]))

    found: Counter[str] = Counter()
    since: list[ShardRevision] = []
    while True:
        answers = changes(service, since, limit)
        found.update(each.group for each in changes_of(answers))
        since = token(answers)
        if not any(each.more for each in answers):
            break

    assert found == Counter(GROUPS)
    assert not changes_of(changes(service, since, limit))


def test_a_page_never_divides_what_one_revision_changed(service: OffsetService) -> None:
    commit(service, *(item(group, 1) for group in GROUPS))
    commit(service, item("later", 1))

    answers = changes(service, [], limit=1)

    assert {each.group for each in changes_of(answers)} >= set(GROUPS)


def test_offsets_that_do_not_fit_are_left_to_a_fetch(
    service: OffsetService, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(service, item("small", 1), item("large", *range(40)))
    monkeypatch.setattr(queries, "CHANGES_BYTES", 500)

    found = {each.group: each for each in changes_of(changes(service, []))}

    assert [each.offset for each in found["small"].offsets] == [1]
    assert (found["large"].partial, len(found["large"].offsets)) == (True, 0)


def test_a_token_from_a_history_that_was_undone_begins_anew(service: OffsetService) -> None:
    commit(service, *(item(group, 1) for group in GROUPS))
    ahead = [ShardRevision(shard=shard, revision=1 << 50) for shard in range(SHARDS)]

    answers = changes(service, ahead)

    assert all(each.resync for each in answers)
    assert sorted(each.group for each in changes_of(answers)) == GROUPS


@pytest.mark.parametrize(
    ("method", "request_", "field"),
    [
        ("FetchOffsets", FetchOffsetsRequest(group="g"), "tenant"),
        ("FetchOffsets", FetchOffsetsRequest(tenant="t"), "group"),
        (
            "FetchOffsets",
            FetchOffsetsRequest(
                tenant="t", group="g", topic="x", partitions=[TopicPartition(topic="y")]
            ),
            "topic",
        ),
        (
            "FetchOffsets",
            FetchOffsetsRequest(tenant="t", group="g", partitions=[TopicPartition()]),
            "partitions[0].topic",
        ),
        (
            "FetchOffsets",
            FetchOffsetsRequest(
                tenant="t", group="g", partitions=[TopicPartition(topic="x")] * (MOST_OFFSETS + 1)
            ),
            "partitions",
        ),
        ("FetchOffsets", FetchOffsetsRequest(tenant="t", group="g", topic="t" * 256), "topic"),
        ("FetchGroups", FetchGroupsRequest(groups=[GroupName(tenant="t")]), "groups[0].group"),
        (
            "FetchGroups",
            FetchGroupsRequest(groups=[GroupName(tenant="t", group="g")] * (MOST_GROUPS + 1)),
            "groups",
        ),
        (
            "Lag",
            LagRequest(tenant="t", group="g", ends=[PartitionOffset(topic="x", offset=-1)]),
            "ends[0].offset",
        ),
        ("GetGroupState", GetGroupStateRequest(tenant="t"), "group"),
        ("ListGroupStates", ListGroupStatesRequest(prefix="p"), "prefix"),
        ("ListGroupStates", ListGroupStatesRequest(page_size=1_001), "page_size"),
        ("ListGroupStates", ListGroupStatesRequest(page_token=b"\xff"), "page_token"),
        ("ListGroupStates", ListGroupStatesRequest(page_token=b"\x0a\x01t"), "page_token"),
    ],
)
def test_a_read_that_makes_no_sense_is_refused_with_its_field(
    service: OffsetService, method: str, request_: Any, field: str
) -> None:
    with pytest.raises(Invalid) as refusal:
        run(getattr(service, method)(request_, None))

    assert refusal.value.field == field


@pytest.mark.parametrize(
    "request_",
    [
        ListChangesRequest(since=[ShardRevision(shard=1), ShardRevision(shard=1)]),
        ListChangesRequest(since=[ShardRevision(revision=1 << 63)]),
        ListChangesRequest(limit=10_001),
    ],
)
def test_a_token_that_is_none_is_refused(
    service: OffsetService, request_: ListChangesRequest
) -> None:
    with pytest.raises(Invalid):
        changes(service, list(request_.since), request_.limit)
