"""A tenant that is deleted takes its connectors along."""

from __future__ import annotations

from typing import Any

import pytest
from quorate.plugin import Rejected
from quorate.v1.tenant_pb2 import DeleteTenantRequest, Tenant

DELETION = "connector.tenant_deletion"


async def delete(bench: Any, *, cascade: bool) -> Tenant:
    tenants = bench.node.servicer("quorate.v1.TenantService")
    marked: Tenant = await tenants.Delete(DeleteTenantRequest(name="acme", cascade=cascade), None)
    return marked


async def test_a_tenant_with_connectors_is_not_deleted_alone(bench: Any) -> None:
    await bench.create()

    with pytest.raises(Rejected, match="FAILED_PRECONDITION"):
        await delete(bench, cascade=False)


async def test_connectors_go_with_their_tenant(bench: Any) -> None:
    for number in range(23):
        await bench.create(name=f"c{number}", tasks=1)
    await bench.create(tenant="globex")
    await bench.progress(0)

    marked = await delete(bench, cascade=True)
    assert "connector" in marked.cascades
    with pytest.raises(Rejected, match="TENANT_DELETING"):
        await bench.create(name="late")
    await bench.node.run_controller(DELETION)

    assert [key for key in bench.node.rows("connector.connectors") if b"acme" in key] == []
    assert bench.rows()["connector.tasks"] == 2
    with pytest.raises(Rejected, match="NOT_FOUND"):
        await delete(bench, cascade=True)
    proposals = len(bench.node.proposals)
    await bench.node.run_controller(DELETION)
    assert len(bench.node.proposals) == proposals


async def test_the_deletion_waits_for_a_shard_that_does_not_know_of_it(bench: Any) -> None:
    await bench.create()
    bench.node.mirrors_lag = True
    await delete(bench, cascade=True)

    await bench.node.run_controller(DELETION)
    # The shard would still take new ones.
    await bench.create(name="late")
    assert bench.rows()["connector.connectors"] == 2
    bench.node.mirror()
    await bench.node.run_controller(DELETION)

    assert "connector.connectors" not in bench.rows()
