"""Clusters of real nodes that keep offsets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest
from quorate.client import Client
from quorate.testing.cluster import Cluster
from quorate.testing.waiting import until
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.tenant_pb2 import CreateTenant, Tenant
from quorate_offset.v1.commands_pb2 import CommitOffsetsCommand, GroupCommit, OffsetCommit

#: Fewer seconds a test; a machine that runs other tests beside it still keeps up.
TIMING: Final = {"heartbeat_ms": 50, "election_min_ms": 200, "election_max_ms": 400}
EXPIRY_INTERVAL_S: Final = 0.2


def refused(client: Client) -> bool:
    """Whether a shard does not know the tenant yet."""
    commits = [OffsetCommit(topic="t", partition=0, offset=0)]
    groups = [GroupCommit(tenant="acme", group=f"g{at}", commits=commits) for at in range(64)]
    return bool(client.execute(CommitOffsetsCommand(groups=groups), BatchReply).refusals)


@pytest.fixture
def founded(tmp_path: Path) -> Iterator[Callable[..., Cluster]]:
    """Found a cluster with shards of offsets and the tenant acme: `founded(shards=4)`."""
    with ExitStack() as stack:

        def found(*, shards: int = 1, timing: dict[str, int] = TIMING) -> Cluster:
            settings: dict[str, dict[str, object]] = {
                "timing": {**timing},
                "groups": {"offset": {"shards": shards}},
                "plugins": {"offset": {"expiry_interval_s": EXPIRY_INTERVAL_S}},
            }
            cluster = Cluster(tmp_path, plugins=["offset"], settings=settings)
            stack.enter_context(cluster).ready()
            for number in range(shards):
                cluster.leader(f"offset/{number}")
            with Client(cluster.endpoints) as client:
                client.execute(CreateTenant(name="acme"), Tenant)
                until(lambda: None if refused(client) else True)
            return cluster

        yield found
