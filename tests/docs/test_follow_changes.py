"""The page on following changes: its connector works. Its streams are tested with Spark."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from quorate.client import AsyncClient, ChangeKind, RejectedError, WatchedChange, connect
from quorate.testing.cluster import Cluster
from quorate.v1.tenant_pb2 import CreateTenant, Tenant
from quorate_connector.client import Connectors
from quorate_connector.v1.connectors_pb2 import CreateConnectorRequest, Definition

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "follow-changes.md"
_IN_TIME_S = 60.0


async def define(q: AsyncClient) -> None:
    """Define a connector for the pairs, once its shard knows the tenant."""
    await q.execute(CreateTenant(name="acme"), Tenant)
    config = json.dumps({"topic": "kv.pairs", "url": "http://127.0.0.1/pairs"}).encode()
    definition = Definition(type="webhook", config=config, tasks_max=1)
    request = CreateConnectorRequest(tenant="acme", name="pairs", definition=definition)
    while True:
        try:
            await Connectors(q).create(request)
        except RejectedError as error:
            if error.code != "TENANT_NOT_FOUND":
                raise
            await asyncio.sleep(0.05)
        else:
            return


@pytest.mark.ci
async def test_a_connector_follows_changes_and_goes_on_after_its_cursor(tmp_path: Path) -> None:
    code = re.findall(r"^```python\n(.+?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)[-1]
    scope: dict[str, Any] = {}
    exec(compile(code, str(PAGE), "exec"), scope)
    got: list[tuple[ChangeKind, bytes]] = []
    arrived = asyncio.Event()

    async def send(url: str, changes: Sequence[WatchedChange]) -> None:
        assert url == "http://127.0.0.1/pairs"
        got.extend((each.kind, each.key) for each in changes)
        arrived.set()

    async def until_it_arrives(kind: ChangeKind, key: bytes) -> None:
        async with asyncio.timeout(_IN_TIME_S):
            while (kind, key) not in got:
                arrived.clear()
                await arrived.wait()

    with Cluster(tmp_path, nodes=1, plugins=["connector"]) as cluster:
        cluster.ready()
        async with connect(cluster.endpoints) as q:
            await q.kv.put("a", b"1")
            await define(q)
            work = asyncio.create_task(scope["work"](cluster.endpoints, "w", send))
            await until_it_arrives(ChangeKind.ROW, b"a")
            await q.kv.put("b", b"1")
            await until_it_arrives(ChangeKind.PUT, b"b")
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
            await q.kv.delete("a")
            work = asyncio.create_task(scope["work"](cluster.endpoints, "w", send))
            await until_it_arrives(ChangeKind.DELETED, b"a")
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)

    # The second run did not begin anew.
    assert got.count((ChangeKind.ROW, b"a")) == 1
