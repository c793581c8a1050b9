"""Offsets on several shards: who leads them, and what one that has no leader holds up."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from contextlib import aclosing, suppress
from typing import Final

import pytest
from quorate.client import AsyncClient, OutcomeUnknownError, UnavailableError, connect
from quorate.testing.cluster import Cluster
from quorate.testing.waiting import until
from quorate.v1.batch_pb2 import ShardRevision
from quorate_offset.v1.commands_pb2 import GroupCommit, OffsetCommit
from quorate_offset.v1.queries_pb2 import GroupName, ShardChanges
from quorate_offset.v1.service_pb2 import (
    CommitOffsetsRequest,
    CommitOffsetsResponse,
    FetchGroupsRequest,
    FetchGroupsResponse,
    ListChangesRequest,
)

SERVICE: Final = "/quorate_offset.v1.OffsetService"
COMMIT: Final = f"{SERVICE}/CommitOffsets"
FETCH: Final = f"{SERVICE}/FetchGroups"
CHANGES: Final = f"{SERVICE}/ListChanges"
SHARDS: Final = [f"offset/{number}" for number in range(4)]
#: Elections that take seconds, so that there is time to look at a shard that has no leader.
PATIENT: Final = {"heartbeat_ms": 200, "election_min_ms": 6_000, "election_max_ms": 7_000}
#: Nodes move a leader at most once in ten seconds.
SPREAD_S: Final = 90.0


async def commit(client: AsyncClient, offset: int, *groups: str) -> CommitOffsetsResponse:
    commits = [OffsetCommit(topic="t", partition=0, offset=offset)]
    request = CommitOffsetsRequest(
        groups=[GroupCommit(tenant="acme", group=group, commits=commits) for group in groups]
    )
    return await client.call(COMMIT, request, CommitOffsetsResponse)


async def fetch(client: AsyncClient, *groups: str) -> FetchGroupsResponse:
    named = [GroupName(tenant="acme", group=group) for group in groups]
    return await client.call(FETCH, FetchGroupsRequest(groups=named), FetchGroupsResponse)


async def changes(client: AsyncClient, token: dict[int, int]) -> list[ShardChanges]:
    """Ask once for what has changed behind a token."""
    since = [ShardRevision(shard=shard, revision=token[shard]) for shard in sorted(token)]
    request = ListChangesRequest(since=since, limit=10_000)
    answers = client.stream(CHANGES, request, ShardChanges)
    async with aclosing(answers):
        return [each async for each in answers]


async def group_in(client: AsyncClient, shard: int) -> str:
    """Find a group that lies in a shard."""
    for number in range(1_000):
        answer = await commit(client, 1, f"group-{number}")
        if [revision.shard for revision in answer.revisions] == [shard]:
            return f"group-{number}"
    raise AssertionError(f"no group lies in shard {shard}")


async def commit_until_heard(client: AsyncClient, offset: int, group: str) -> None:
    """Commit again for as long as it is not known whether it was."""
    while True:
        with suppress(UnavailableError, OutcomeUnknownError):
            answer = await commit(client, offset, group)
            assert not answer.refusals
            return


@pytest.mark.ci
async def test_one_call_over_many_groups_is_carried_out_by_all_shards(
    founded: Callable[..., Cluster],
) -> None:
    cluster = founded(shards=4)
    async with connect(cluster.endpoints) as client:
        answer = await commit(client, 1, *(f"group-{number}" for number in range(1_000)))
    assert not answer.refusals
    assert [revision.shard for revision in answer.revisions] == [0, 1, 2, 3]


@pytest.mark.full
async def test_a_shard_without_a_leader_holds_up_its_own_groups_alone(
    founded: Callable[..., Cluster],
) -> None:
    cluster = founded(shards=2, timing=PATIENT)
    alone = SHARDS[1]
    victim, survivor = led_apart(cluster, alone, SHARDS[0])
    # Only this one is asked: what is lost with the victim's connections is another matter.
    async with connect(cluster.nodes[survivor].address) as client:
        waiting, going_on = await group_in(client, 1), await group_in(client, 0)
        cluster.nodes[victim].kill()
        held_up = asyncio.create_task(commit_until_heard(client, 2, waiting))
        for offset in range(2, 52):
            answer = await commit(client, offset, going_on)
            assert not answer.refusals
        # It has had no leader all the while, and has none yet.
        assert not leaders(cluster)[alone]
        assert not held_up.done()
        await held_up
        assert leaders(cluster)[alone]


@pytest.mark.full
async def test_one_call_over_all_shards_tells_what_those_with_a_leader_have(
    founded: Callable[..., Cluster],
) -> None:
    cluster = founded(shards=2, timing=PATIENT)
    # The first one: whoever asks one shard after the other does not come to the second.
    alone = SHARDS[0]
    victim, survivor = led_apart(cluster, alone, SHARDS[1])
    async with connect(cluster.nodes[survivor].address) as client:
        waiting, going_on = await group_in(client, 0), await group_in(client, 1)
        token = {each.shard: each.revision for each in await changes(client, {})}
        for group in (waiting, going_on):
            assert not (await commit(client, 2, group)).refusals
        cluster.nodes[victim].kill()
        both = asyncio.create_task(commit(client, 3, waiting, going_on))
        while (await fetch(client, going_on)).groups[0].offsets[0].offset != 3:
            await asyncio.sleep(0.01)
        fetched, changed = await asyncio.gather(
            fetch(client, waiting, going_on), changes(client, token)
        )
        # All of this was told while there was no leader.
        assert not leaders(cluster)[alone]
        assert not both.done()
        assert [(each.item, each.code) for each in fetched.refusals] == [(0, "UNAVAILABLE")]
        assert [len(group.offsets) for group in fetched.groups] == [0, 1]
        assert [(each.shard, each.code) for each in changed] == [(1, ""), (0, "UNAVAILABLE")]
        assert [each.group for each in changed[0].changes] == [going_on]
        assert changed[1].revision == token[0]
        answer = await both
        assert {each.group for each in answer.refusals} <= {0}
        # Nothing was missed where the token stayed.
        await commit_until_heard(client, 4, waiting)
        token = {each.shard: each.revision for each in changed}
        [later] = [each for each in await changes(client, token) if each.changes]
        assert (later.shard, [each.group for each in later.changes]) == (0, [waiting])


@pytest.mark.full
@pytest.mark.timeout(240)
def test_the_leaders_of_four_shards_spread_over_the_nodes(
    founded: Callable[..., Cluster],
) -> None:
    cluster = founded(shards=4)
    for shard in SHARDS:
        lead(cluster, shard, "node1")
    deadline = time.monotonic() + SPREAD_S
    while not is_spread(cluster):
        assert time.monotonic() < deadline, leaders(cluster)
        time.sleep(0.2)


def is_spread(cluster: Cluster) -> bool:
    """Whether no node leads two shards more than another, and none more than two of offsets."""
    led = [(shard, name) for shard, names in leaders(cluster).items() for name in names]
    counts = [sum(name == node for _, name in led) for node in cluster.nodes]
    offsets = Counter(name for shard, name in led if shard in SHARDS)
    return max(counts) - min(counts) < 2 and offsets.total() == 4 and max(offsets.values()) == 2


def led_apart(cluster: Cluster, alone: str, other: str) -> tuple[str, str]:
    """Let one node lead a shard alone, and another node all else; return their names."""
    victim, survivor = sorted(cluster.nodes)[:2]
    lead(cluster, alone, victim)
    for shard in ("metadata/0", other):
        lead(cluster, shard, survivor)
    return victim, survivor


def leaders(cluster: Cluster) -> dict[str, list[str]]:
    """Return, by shard, the nodes that run and lead it."""
    found: dict[str, list[str]] = {}
    for name, node in cluster.nodes.items():
        if (status := node.report()) is not None:
            for report in status.shards:
                found.setdefault(report.shard, [])
                if report.role == "leader":
                    found[report.shard].append(name)
    return found


def lead(cluster: Cluster, shard: str, name: str) -> None:
    """Let a node lead a shard."""

    def leads() -> bool | None:
        leader = cluster.leader(shard)
        if leader.name == name:
            return True
        leader.transfer(shard, name)
        return None

    until(leads)
