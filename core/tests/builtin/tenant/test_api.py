"""What plugins take part with in the deletion of a tenant."""

from __future__ import annotations

from asyncio import run
from collections.abc import Callable

import pytest
from google.protobuf.empty_pb2 import Empty
from quorate.plugin.resource import tenants, waiting_tenants
from quorate.testing import MemoryNode
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.tenant_pb2 import (
    CreateTenant,
    CreateTenants,
    FinishTenantCascade,
    MarkTenant,
    MarkTenants,
)

NAMES = [f"t{number}" for number in range(5)]


async def waiting(node: MemoryNode, cascade: str) -> list[str]:
    return [tenant.name async for tenant in waiting_tenants(node, cascade)]


@pytest.fixture
def node(
    node_with: Callable[[dict[str, set[str]]], MemoryNode], monkeypatch: pytest.MonkeyPatch
) -> MemoryNode:
    """Give a node whose tenants `t1` to `t4` wait for two plugins, two tenants a page."""
    monkeypatch.setattr(tenants, "_PAGE", 2)
    node = node_with({"mqtt": set(), "offset": set()})
    created = CreateTenants(tenants=[CreateTenant(name=name) for name in NAMES])
    run(node.propose(created, BatchReply))
    marks = [MarkTenant(name=name, cascades=["mqtt", "offset"]) for name in NAMES[1:]]
    assert not run(node.propose(MarkTenants(tenants=marks), BatchReply)).refusals
    return node


def test_every_tenant_that_waits_is_given_over_all_pages(node: MemoryNode) -> None:
    assert run(waiting(node, "mqtt")) == ["t1", "t2", "t3", "t4"]
    assert run(waiting(node, "connector")) == []


def test_what_is_finished_waits_no_more_and_keeps_no_other_from_being_given(
    node: MemoryNode,
) -> None:
    async def finish_each() -> list[str]:
        given = []
        async for tenant in waiting_tenants(node, "mqtt"):
            given.append(tenant.name)
            for cascade in ("mqtt", "offset"):
                done = FinishTenantCascade(name=tenant.name, id=tenant.id, cascade=cascade)
                await node.propose(done, Empty)
        return given

    assert run(finish_each()) == ["t1", "t2", "t3", "t4"]
    assert run(waiting(node, "offset")) == []
