"""Idle groups expire by a setting that is changed while the cluster runs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Final

import pytest
from quorate.client import AsyncClient, connect
from quorate.testing.cluster import Cluster
from quorate.testing.waiting import PATIENCE_S
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.resource_pb2 import PutResource, StoredResource
from quorate_offset.v1.commands_pb2 import GroupCommit, OffsetCommit
from quorate_offset.v1.service_pb2 import (
    CommitOffsetsRequest,
    ListGroupStatesRequest,
    ListGroupStatesResponse,
)

TENANT: Final = "acme"
LIST: Final = "/quorate_offset.v1.OffsetService/ListGroupStates"
#: Short enough to wait for, and much longer than a busy group is ever left alone.
EXPIRE_S: Final = 4
RUNS: Final = 5


@pytest.mark.full
async def test_groups_expire_by_the_setting_of_the_moment(founded: Callable[..., Cluster]) -> None:
    cluster = founded(shards=2)
    idle = {f"idle-{number}" for number in range(20)}
    busy = {f"busy-{number}" for number in range(20)}
    async with connect(cluster.endpoints, exactly_once=True) as client:
        await commit(client, idle)
        await commit(client, busy)
        working = asyncio.create_task(work(client, busy))
        # For a week nobody expires.
        await looked_again(cluster)
        assert idle | busy <= await listed(client)
        await expire_after(client, EXPIRE_S)
        async with asyncio.timeout(PATIENCE_S):
            while idle & await listed(client):
                await asyncio.sleep(0.1)
        assert busy <= await listed(client)
        # Now nobody expires at all, however long that is: the busy groups move the shards' time.
        await expire_after(client, 0)
        await commit(client, idle)
        begun = time_of(cluster)
        async with asyncio.timeout(PATIENCE_S):
            while time_of(cluster) < begun + EXPIRE_S * 1_000:
                await asyncio.sleep(0.1)
        await looked_again(cluster)
        assert idle | busy <= await listed(client)
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
        assert working.cancelled()


async def work(client: AsyncClient, groups: set[str]) -> None:
    while True:
        await commit(client, groups)
        await asyncio.sleep(0.1)


async def commit(client: AsyncClient, groups: set[str]) -> None:
    commits = [OffsetCommit(topic="t", partition=0, offset=1)]
    command = CommitOffsetsRequest(
        groups=[
            GroupCommit(tenant=TENANT, group=group, commits=commits) for group in sorted(groups)
        ]
    )
    reply = await client.execute(command, BatchReply)
    assert not reply.refusals


async def listed(client: AsyncClient) -> set[str]:
    request = ListGroupStatesRequest(tenant=TENANT, page_size=1_000)
    found = await client.call(LIST, request, ListGroupStatesResponse, read=True)
    return {state.group for state in found.groups}


async def expire_after(client: AsyncClient, seconds: int) -> None:
    value = json.dumps({"group_expire_s": seconds}).encode()
    await client.execute(PutResource(path="settings/offset", value=value), StoredResource)


async def looked_again(cluster: Cluster) -> None:
    """Wait until the leaders have looked for idle groups some more times."""
    before = runs(cluster)
    assert len(before) == 2
    async with asyncio.timeout(PATIENCE_S):
        while any(count < before.get(shard, 0) + RUNS for shard, count in runs(cluster).items()):
            await asyncio.sleep(0.1)


def runs(cluster: Cluster) -> dict[str, int]:
    """Return, by shard, how often its leader has looked."""
    reports = [node.report() for node in cluster.nodes.values()]
    return {
        controller.shard: controller.runs
        for report in reports
        if report is not None
        for controller in report.controllers
        if controller.name == "offset.expiry"
    }


def time_of(cluster: Cluster) -> int:
    """Return the logical time of the shards of offsets, in ms."""
    reports = [node.report() for node in cluster.nodes.values()]
    return min(
        shard.now_ms
        for report in reports
        if report is not None
        for shard in report.shards
        if shard.shard.startswith("offset/") and shard.role == "leader"
    )
