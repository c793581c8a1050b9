"""A tenant that is deleted takes its groups along."""

from asyncio import run

import pytest
from quorate.plugin import Rejected
from quorate.testing import MemoryNode
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.tenant_pb2 import CreateTenant, DeleteTenantRequest, Tenant
from quorate_offset import tenants
from quorate_offset.families import OFFSETS, SUBSCRIPTION_GROUPS
from quorate_offset.v1.commands_pb2 import GroupCommit, OffsetCommit, SubscriptionGroupChange
from quorate_offset.v1.service_pb2 import CommitOffsetsRequest
from quorate_offset.v1.subscription_group_service_pb2 import PutGroupsRequest

TENANT_SERVICE = "quorate.v1.TenantService"
DELETION = "offset.tenant_deletion"
GROUPS = [f"group-{number}" for number in range(9)]


@pytest.fixture
def held(node: MemoryNode) -> MemoryNode:
    """A node whose tenants `acme` and `other` have groups of both kinds."""
    run(node.propose(CreateTenant(name="other"), Tenant))
    commits = [OffsetCommit(topic="t", offset=1)]
    named = [(tenant, group) for tenant in ("acme", "other") for group in GROUPS]
    groups = [GroupCommit(tenant=a, group=b, commits=commits) for a, b in named]
    run(node.propose(CommitOffsetsRequest(groups=groups), BatchReply))
    puts = [SubscriptionGroupChange(tenant=a, group=b) for a, b in named]
    run(node.propose(PutGroupsRequest(groups=puts), BatchReply))
    return node


def delete(node: MemoryNode, *, cascade: bool) -> Tenant:
    request = DeleteTenantRequest(name="acme", cascade=cascade)
    marked: Tenant = run(node.servicer(TENANT_SERVICE).Delete(request, None))
    return marked


def names(node: MemoryNode) -> set[bytes]:
    return set(node.rows("tenant.tenants"))


@pytest.mark.parametrize("together", [1, 4, 100])
def test_its_groups_go_with_a_tenant_and_nobody_elses(
    held: MemoryNode, together: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tenants, "TOGETHER", together)
    before = names(held)
    assert delete(held, cascade=True).cascades == ["offset"]
    assert DELETION in held.woken

    run(held.run_woken())

    assert len(held.rows(OFFSETS)) == len(held.rows(SUBSCRIPTION_GROUPS)) == len(GROUPS)
    # The tenant that waits from the beginning had nothing to wait for.
    assert len(before - names(held)) == 2


def test_a_tenant_that_has_groups_is_not_deleted_without_a_word(held: MemoryNode) -> None:
    with pytest.raises(Rejected, match="holds something in offset"):
        delete(held, cascade=False)


def test_a_tenant_without_groups_goes_at_once(node: MemoryNode) -> None:
    delete(node, cascade=False)

    run(node.run_controller(DELETION))

    assert not names(node)


def test_nothing_is_finished_while_a_shard_would_take_something_new(held: MemoryNode) -> None:
    held.mirrors_lag = True
    delete(held, cascade=True)
    before = names(held)

    run(held.run_controller(DELETION))
    assert len(held.rows(OFFSETS)) == 2 * len(GROUPS)
    assert b"\x02acme\x00" in before & names(held)

    held.mirror()
    run(held.run_controller(DELETION))
    assert b"\x02acme\x00" not in names(held)
