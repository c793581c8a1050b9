"""Clusters of real nodes that keep offsets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest
from quorate.client import Client
from quorate.testing.cluster import QUICK_ELECTIONS, Cluster
from quorate.v1.tenant_pb2 import CreateTenant, Tenant

EXPIRY_INTERVAL_S: Final = 0.2


@pytest.fixture
def founded(tmp_path: Path) -> Iterator[Callable[..., Cluster]]:
    """Found a cluster with shards of offsets and the tenant acme: `founded(shards=4)`."""
    with ExitStack() as stack:

        def found(*, shards: int = 1, timing: dict[str, int] = QUICK_ELECTIONS) -> Cluster:
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
            return cluster

        yield found
