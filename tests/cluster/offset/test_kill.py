"""A leader that is killed under load takes no acknowledged commit with it."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

import pytest
from quorate.client import AsyncClient, QuorateError, connect
from quorate.testing.cluster import Cluster
from quorate.testing.waiting import PATIENCE_S
from quorate_offset.v1.commands_pb2 import COMMIT_MODE_MONOTONIC, GroupCommit, OffsetCommit
from quorate_offset.v1.queries_pb2 import GroupName
from quorate_offset.v1.service_pb2 import (
    CommitOffsetsRequest,
    CommitOffsetsResponse,
    FetchGroupsRequest,
    FetchGroupsResponse,
)

SERVICE: Final = "/quorate_offset.v1.OffsetService"
TENANT: Final = "acme"
WRITERS: Final = 4
#: Of each writer: they lie in all shards.
GROUPS: Final = 25
PARTITIONS: Final = 4
#: Requests that must be acknowledged before, and again after each kill.
PROGRESS: Final = 20
#: An attempt that meets the kill is given up, and sent again.
ATTEMPT_S: Final = 3.0
#: What groups are refused with whose shard did not answer.
NOT_HEARD: Final = {"OUTCOME_UNKNOWN", "UNAVAILABLE", "DEADLINE_EXCEEDED", "RESOURCE_EXHAUSTED"}


class Writer:
    """Commits offsets that only grow, and remembers which were acknowledged."""

    def __init__(self, client: AsyncClient, number: int, *, compares: bool) -> None:
        self._client: Final = client
        self._compares: Final = compares
        self.groups: Final = [f"writer-{number}-{at}" for at in range(GROUPS)]
        #: What stands at least.
        self.acknowledged: Final[defaultdict[tuple[str, int], int]] = defaultdict(int)
        #: What stands at most.
        self.sent = 0
        self.requests = 0

    async def run(self) -> None:
        """Commit until cancelled: what may have been lost on the way is sent again."""
        while True:
            self.sent += 1
            left, in_doubt = self.groups, False
            while left:
                left, in_doubt = await self._commit(left, in_doubt=in_doubt), True
            self.requests += 1

    async def _commit(self, groups: list[str], *, in_doubt: bool) -> list[str]:
        """Commit once, and return the groups of which it is not known whether it was."""
        request = CommitOffsetsRequest(groups=[self._group_commit(group) for group in groups])
        try:
            answer = await self._client.call(
                f"{SERVICE}/CommitOffsets", request, CommitOffsetsResponse, timeout_s=ATTEMPT_S
            )
        except QuorateError:
            return groups
        again = set()
        for refusal in answer.refusals:
            if refusal.HasField("commit"):
                # An attempt that nothing was heard of may have been the one that won.
                assert in_doubt, refusal
                assert (self._compares, refusal.code) == (True, "OFFSET_MISMATCH"), refusal
            else:
                assert refusal.code in NOT_HEARD, refusal
                again.add(groups[refusal.group])
        for group in groups:
            if group not in again:
                for partition in range(PARTITIONS):
                    self.acknowledged[group, partition] = self.sent
        return [group for group in groups if group in again]

    async def fetched(self) -> tuple[dict[tuple[str, int], int], set[str]]:
        """Read what stands, and return the groups whose shard could not be read, too."""
        request = FetchGroupsRequest(
            groups=[GroupName(tenant=TENANT, group=group) for group in self.groups]
        )
        found = await self._client.call(
            f"{SERVICE}/FetchGroups", request, FetchGroupsResponse, read=True
        )
        assert {refusal.code for refusal in found.refusals} <= NOT_HEARD
        stands = {
            (group.group, each.partition): each.offset
            for group in found.groups
            for each in group.offsets
        }
        return stands, {self.groups[refusal.item] for refusal in found.refusals}

    async def all_fetched(self) -> dict[tuple[str, int], int]:
        """Read what stands, once every shard can be read."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                stands, unread = await self.fetched()
                if not unread:
                    return stands

    async def watch(self) -> None:
        """Read until cancelled: nothing lies before what was acknowledged, or read, before."""
        seen: dict[tuple[str, int], int] = {}
        while True:
            before = {**seen, **self.acknowledged}
            try:
                found, unread = await self.fetched()
            except QuorateError:
                continue
            behind = {
                partition: (found.get(partition), offset)
                for partition, offset in before.items()
                if partition[0] not in unread and found.get(partition, -1) < offset
            }
            assert not behind
            seen.update(found)

    def _group_commit(self, group: str) -> GroupCommit:
        commits = [
            OffsetCommit(topic="t", partition=partition, offset=self.sent)
            for partition in range(PARTITIONS)
        ]
        if not self._compares:
            return GroupCommit(
                tenant=TENANT, group=group, commits=commits, mode=COMMIT_MODE_MONOTONIC
            )
        for commit in commits:
            commit.expected_offset = self.sent - 1
        return GroupCommit(tenant=TENANT, group=group, commits=commits)


@asynccontextmanager
async def committing(cluster: Cluster) -> AsyncIterator[list[Writer]]:
    """Commit and read from all sides; what a writer or a reader finds wrong is raised."""
    async with connect(cluster.endpoints) as client:
        writers = [Writer(client, number, compares=number % 2 == 1) for number in range(WRITERS)]
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(act()) for each in writers for act in (each.run, each.watch)]
            yield writers
            for task in tasks:
                task.cancel()
        for writer in writers:
            stands = await writer.all_fetched()
            assert stands.keys() == writer.acknowledged.keys()
            for partition, offset in stands.items():
                assert writer.acknowledged[partition] <= offset <= writer.sent


async def progress(writers: list[Writer]) -> None:
    """Wait until each writer got further."""
    wanted = [writer.requests + PROGRESS for writer in writers]
    async with asyncio.timeout(PATIENCE_S):
        while any(writer.requests < want for writer, want in zip(writers, wanted, strict=True)):
            await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("shards", "kills"),
    [
        pytest.param(2, 1, marks=pytest.mark.ci),
        pytest.param(1, 3, marks=pytest.mark.full),
        pytest.param(4, 4, marks=pytest.mark.full),
    ],
)
async def test_a_killed_leader_loses_no_acknowledged_commit(
    founded: Callable[..., Cluster], shards: int, kills: int
) -> None:
    cluster = founded(shards=shards)
    async with committing(cluster) as writers:
        await progress(writers)
        for number in range(kills):
            leader = await asyncio.to_thread(cluster.leader, f"offset/{number % shards}")
            leader.kill()
            await progress(writers)
            leader.start()
            await asyncio.to_thread(leader.ready)
            await progress(writers)
