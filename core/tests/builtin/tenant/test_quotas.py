"""Which quotas there may be, and what is recorded of what was measured."""

from __future__ import annotations

from asyncio import run
from collections.abc import Callable

import pytest
from quorate.plugin import Invalid
from quorate.testing import MemoryNode
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.quota_pb2 import PutQuotas, Quota, ReportTenantUsages, TenantUsage


@pytest.fixture
def node(node_with: Callable[[dict[str, set[str]]], MemoryNode]) -> MemoryNode:
    return node_with({})


@pytest.mark.parametrize(
    ("quota", "field"),
    [
        (Quota(kind="user", name="a"), "quotas[0].kind"),
        (Quota(kind="tenant"), "quotas[0].name"),
        (Quota(kind="tenant", name="a b"), "quotas[0].name"),
        (Quota(kind="identity", name="a" * 257), "quotas[0].name"),
        (Quota(kind="identity", name="a", rows=1), "quotas[0].rows"),
        (Quota(kind="address", name="*", bytes=1), "quotas[0].bytes"),
    ],
)
def test_what_cannot_be_bounded_is_refused_by_its_field(
    node: MemoryNode, quota: Quota, field: str
) -> None:
    with pytest.raises(Invalid) as refused:
        run(node.propose(PutQuotas(quotas=[quota]), BatchReply))

    assert refused.value.field == field


@pytest.mark.parametrize(
    "quota",
    [
        Quota(kind="tenant", name="*", rows=1, bytes=2, commands_per_s=3),
        Quota(kind="identity", name="CN=ada, O=acme", commands_per_s=1, calls_per_s=1),
        Quota(kind="address", name="::1", watches=1, connections=1),
        Quota(kind="tenant", name="acme", calls_per_s=1, watches=1, connections=1),
    ],
)
def test_the_rest_is_taken(node: MemoryNode, quota: Quota) -> None:
    assert not run(node.propose(PutQuotas(quotas=[quota]), BatchReply)).refusals


def test_what_was_measured_is_kept_until_there_is_nothing(node: MemoryNode) -> None:
    def report(rows: int) -> BatchReply:
        usage = TenantUsage(tenant="acme", shard="mqtt/0", rows=rows, bytes=10)
        return run(node.propose(ReportTenantUsages(usages=[usage]), BatchReply))

    def kept() -> int:
        return len(list(node.rows("tenant.usages")))

    report(0)
    assert kept() == 0
    report(3)
    assert kept() == 1
    report(0)
    assert kept() == 0
