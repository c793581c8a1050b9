"""A tenant is usable on every shard, from any client, as soon as its creation was answered."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from quorate.client import Client
from quorate.testing.cluster import Cluster
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.tenant_pb2 import CreateTenant, CreateTenants
from quorate_offset.v1.commands_pb2 import GroupCommit, OffsetCommit
from quorate_offset.v1.service_pb2 import CommitOffsetsRequest

#: So many rows take longer to be copied than a client takes to come again.
TENANTS = 400
ROUNDS = 8
GROUPS = 8


@pytest.mark.ci
def test_a_new_tenant_commits_offsets_at_once(founded: Callable[..., Cluster]) -> None:
    cluster = founded()
    first, *others = cluster.nodes.values()
    with Client(first.address) as maker, Client(others[0].address) as user:
        for number in range(ROUNDS):
            tenants = [
                CreateTenant(name=f"t{number}-{each:04}", description="x" * 200)
                for each in range(TENANTS)
            ]
            assert not maker.execute(CreateTenants(tenants=tenants), BatchReply).refusals
            tenant = tenants[-1].name
            commits = [OffsetCommit(topic="t", partition=0, offset=1)]
            command = CommitOffsetsRequest(
                groups=[
                    GroupCommit(tenant=tenant, group=str(group), commits=commits)
                    for group in range(GROUPS)
                ]
            )
            assert not user.execute(command, BatchReply).refusals

            unknown = GroupCommit(tenant=f"no-{tenant}", group="g", commits=commits)
            [refusal] = user.execute(
                CommitOffsetsRequest(groups=[unknown, *command.groups]), BatchReply
            ).refusals
            assert (refusal.item, refusal.code) == (0, "NOT_FOUND")
