"""What core gives to `quorate demo`: tenants, a quota near its end, brokers and pairs."""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Final

from quorate.builtin.tenant.quotas import QUOTAS, USAGES
from quorate.cli.demo.playing import insist
from quorate.client.brokers import Registration
from quorate.client.errors import RejectedError
from quorate.plugin.console import DemoScene
from quorate.v1 import quota_pb2, tenant_pb2

if TYPE_CHECKING:
    from quorate.client import AsyncClient

#: The last one gets a quota that its rows nearly fill.
TENANTS: Final = ("demo-acme", "demo-globex", "demo-initech")
#: The name of the cluster that the brokers say they belong to.
_CLUSTER: Final = "demo"
_BROKERS: Final = 3
_PAIRS: Final = 200
#: Of a full quota, the share that is used.
_USED: Final = 0.96
_AMPLE: Final = 100_000


@asynccontextmanager
async def scene(q: AsyncClient) -> AsyncIterator[DemoScene]:
    """Create the tenants, and have the brokers registered meanwhile."""
    for name in TENANTS:
        await insist(partial(_tenant, q, name))
    # Rows are counted while there is a quota; this one lets everything be made.
    await insist(partial(_limit, q, TENANTS[-1], _AMPLE))
    async with AsyncExitStack() as registered:
        epochs = {}
        for number in range(1, _BROKERS + 1):
            name = f"demo-broker-{number}"
            registration = await insist(partial(_broker, q, registered, name, number))
            epochs[name] = registration.broker.epoch
        yield DemoScene(tenants=TENANTS, brokers=epochs)


async def _tenant(q: AsyncClient, name: str) -> None:
    try:
        made = tenant_pb2.CreateTenant(name=name, description="Made by quorate demo")
        await q.execute(made, tenant_pb2.Tenant)
    except RejectedError as error:
        if error.code != "ALREADY_EXISTS":
            raise


async def _broker(q: AsyncClient, held: AsyncExitStack, name: str, number: int) -> Registration:
    return await held.enter_async_context(
        q.brokers.registered(
            name,
            _CLUSTER,
            roles=["mqtt"],
            labels={"zone": f"zone-{number}"},
            addresses={"mqtt": f"broker-{number}.example:1883"},
        )
    )


async def pairs(q: AsyncClient, scene: DemoScene) -> AsyncGenerator[str, None]:
    """Write pairs, some again at each step; give the last tenant its quota once it is measured."""
    keys = [f"demo/settings/{number:03}" for number in range(_PAIRS)]
    for key in keys:
        await q.kv.put(key, b"0")
    yield f"{len(keys)} pairs below demo/"
    limited = False
    value = 0
    while True:
        value += 1
        for key in random.sample(keys, 3):
            await q.kv.put(key, b"%d" % value)
        await q.kv.get(random.choice(keys))
        if not limited:
            limited = await _fill(q, scene.tenants[-1])
        yield ""


async def _limit(q: AsyncClient, tenant: str, rows: int) -> None:
    await q.records(QUOTAS).put(quota_pb2.Quota(kind="tenant", name=tenant, rows=rows))


async def _fill(q: AsyncClient, tenant: str) -> bool:
    """Give a tenant the quota that its rows nearly fill; return whether they are counted yet."""
    usages = [each async for each in q.records(USAGES).list(tenant=tenant)]
    rows = sum(each.rows for each in usages)
    if rows:
        await _limit(q, tenant, round(rows / _USED))
    return rows > 0
