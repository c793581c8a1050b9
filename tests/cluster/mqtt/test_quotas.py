"""Quotas of tenants and callers, from their rows to the refusals and back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from quorate.builtin.tenant.plugin import TENANTS
from quorate.builtin.tenant.quotas import QUOTAS
from quorate.cli.main import main
from quorate.client import AsyncClient, DeadlineError, connect
from quorate.testing.cluster import Cluster
from quorate.v1.kv_pb2 import PutPair, PutPairReply
from quorate.v1.quota_pb2 import Quota
from quorate.v1.tenant_pb2 import Tenant
from quorate_mqtt.rules import AUTO_SUBSCRIPTION
from quorate_mqtt.v1.auto_subscriptions_pb2 import AutoSubscription

pytestmark = pytest.mark.ci


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("quotas"), nodes=1, plugins=["mqtt"]) as cluster:
        yield cluster.ready()


@pytest.fixture
async def client(cluster: Cluster) -> Any:
    async with connect(cluster.endpoints, timeout_s=60) as client:
        yield client


def rule(number: int) -> AutoSubscription:
    return AutoSubscription(tenant="acme", name=f"r{number}", topic="inbox/%c")


async def until(act: Callable[[], Awaitable[object]], quota: str) -> str:
    """Act until it is refused because of a quota (""), or until it is not."""
    async with asyncio.timeout(60):
        while True:
            try:
                async with asyncio.timeout(5):
                    await act()
            except DeadlineError as error:
                if quota and f"(quota {quota})" in str(error):
                    return str(error)
            else:
                if not quota:
                    return ""
            await asyncio.sleep(0.02)


async def test_a_rate_of_callers_holds_until_it_is_lifted(client: AsyncClient) -> None:
    pair = PutPair(key=b"a", value=b"b")

    async def put() -> None:
        for _ in range(5):
            await client.call("/quorate.v1.KvService/Put", pair, PutPairReply, timeout_s=0.5)

    quotas = client.records(QUOTAS)
    await quotas.put(Quota(kind="address", name="*", commands_per_s=1))
    assert "address 127.0.0.1 has sent its 1 commands a second" in await until(
        put, "commands_per_s"
    )
    await quotas.delete(("address", "*"))
    await until(put, "")


async def test_a_tenant_that_has_its_rows_deletes_before_it_gets_more(
    cluster: Cluster,
    client: AsyncClient,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    await client.records(TENANTS).create(Tenant(name="acme"))
    rules = client.records(AUTO_SUBSCRIPTION)
    await rules.create([rule(each) for each in range(3)])
    await client.records(QUOTAS).put(Quota(kind="tenant", name="acme", rows=3))
    names = iter(range(3, 10_000))

    async def create() -> None:
        await rules.create(rule(next(names)), timeout_s=0.5)

    assert "tenant acme has " in await until(create, "rows")

    monkeypatch.setenv("QUORATE_ENDPOINTS", cluster.endpoints)
    assert (
        await asyncio.to_thread(main, ["tenant", "quota", "status", "acme", "--output", "json"])
        == 0
    )
    [row] = json.loads(capsys.readouterr().out)
    assert (row["kind"], row["quota"], row["node"], row["limit"]) == ("tenant", "rows", "all", 3)
    assert row["used"] >= 3
    assert row["refused"] >= 1

    found = [each.name async for each in rules.list(tenant="acme")]
    await rules.delete([("acme", each) for each in found])
    await until(create, "")
