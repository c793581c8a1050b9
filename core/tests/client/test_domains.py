"""Tenants, resources and schemas through both clients, against a node that is complete."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from quorate.client import Client, InvalidError, RejectedError, connect
from quorate.testing.cluster import Cluster
from quorate.v1.schema_pb2 import (
    SCHEMA_KIND_AVRO,
    SCHEMA_KIND_JSON,
    BindSchema,
    CreateSchema,
    PutSchema,
    Schema,
    UpdateSchema,
)
from quorate.v1.tenant_pb2 import CreateTenant, PutTenant, Tenant, UpdateTenant


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("domains"), nodes=1) as cluster:
        yield cluster.ready()


async def test_tenants(node: Cluster) -> None:
    async with connect(node.endpoints) as q:
        made = await q.tenants.create("a-1", description="old", limits={"topics": 1})
        with pytest.raises(RejectedError, match="ALREADY_EXISTS"):
            await q.tenants.create("a-1")
        limited = await q.tenants.update("a-1", limits={"users": 2})
        assert (limited.description, dict(limited.limits)) == ("old", {"users": 2})
        cleared = await q.tenants.update("a-1", description="")
        assert (cleared.description, dict(cleared.limits)) == ("", {"users": 2})
        put = await q.tenants.put("a-1", description="new")
        assert (put.id, put.description, dict(put.limits)) == (made.id, "new", {})
        assert await q.tenants.get("a-1") == put
        assert await q.tenants.get("a-none") is None

        rest = [f"a-{number}" for number in range(2, 150)]
        await q.tenants.create_many([CreateTenant(name=name) for name in rest])
        await q.tenants.update_many([UpdateTenant(name="a-2", description="two")])
        await q.tenants.put_many([PutTenant(name="a-3", description="three")])
        listed = {tenant.name: tenant.description async for tenant in q.tenants.list("a-")}
        assert sorted(listed) == sorted(["a-1", *rest])
        assert (listed["a-2"], listed["a-3"]) == ("two", "three")

        await q.tenants.delete("a-1")
        with pytest.raises(RejectedError, match="NOT_FOUND"):
            await q.tenants.delete("a-none")
        assert await q.tenants.delete("a-none", missing_ok=True) == Tenant()
        deleted = await q.tenants.delete_many(["a-2", "a-none"], missing_ok=True)
        assert not deleted.refusals


async def test_resources(node: Cluster) -> None:
    async with connect(node.endpoints) as q:
        made = await q.resources.create("settings/a", b"1")
        with pytest.raises(RejectedError, match="REVISION_MISMATCH"):
            await q.resources.create("settings/a", b"2")
        newer = await q.resources.update("settings/a", b"2", made.revision)
        with pytest.raises(RejectedError, match="REVISION_MISMATCH"):
            await q.resources.update("settings/a", b"3", made.revision)
        assert await q.resources.get("settings/a") == newer
        assert await q.resources.get("settings/none") is None

        many = {f"many/{number:03}": b"v" for number in range(150)}
        await q.resources.put_many(many)
        assert [each.resource.path async for each in q.resources.list("many/")] == sorted(many)
        found = await q.resources.get_many(["many/001", "settings/none"])
        assert list(found) == ["many/001"]

        await q.resources.delete("settings/a", expected_revision=newer.revision)
        with pytest.raises(RejectedError, match="NOT_FOUND"):
            await q.resources.delete("settings/a")
        await q.resources.delete("settings/a", missing_ok=True)
        deleted = await q.resources.delete_many(["settings/a", "many/001"], missing_ok=True)
        assert not deleted.refusals


async def test_schemas(node: Cluster) -> None:
    async with connect(node.endpoints) as q:
        for tenant in ("s-1", "s-2"):
            await q.tenants.put(tenant)
        await q.schemas.create("s-1", "order", SCHEMA_KIND_JSON, b"1")
        described = await q.schemas.update("s-1", "order", description="Orders.")
        assert (described.version, described.description) == (1, "Orders.")
        newer = await q.schemas.update("s-1", "order", definition=b"2", expected_version=1)
        assert (newer.version, newer.description) == (2, "Orders.")
        same = await q.schemas.put("s-1", "order", SCHEMA_KIND_JSON, b"2")
        assert (same.version, same.description) == (2, "")
        first = await q.schemas.get("s-1", "order", version=1)
        assert first is not None
        assert first.definition == b"1"
        assert await q.schemas.get("s-1", "none") is None
        with pytest.raises(InvalidError):
            await q.schemas.update("s-1", "order")

        names = [f"n{number:03}" for number in range(120)]
        common: dict[str, Any] = {
            "tenant": "s-2",
            "kind": SCHEMA_KIND_AVRO,
            "definition": b'"string"',
        }
        await q.schemas.create_many([CreateSchema(name=name, **common) for name in names])
        await q.schemas.put_many([PutSchema(name="n000", description="first", **common)])
        reply = await q.schemas.update_many(
            [UpdateSchema(tenant="s-2", name="n001", description="second")]
        )
        assert Schema.FromString(reply.replies[0]).description == "second"
        listed = [(each.tenant, each.name) async for each in q.schemas.list()]
        # Other tests share the node, in any order.
        mine = [each for each in listed if each[0] in ("s-1", "s-2")]
        assert mine == [("s-1", "order"), *(("s-2", name) for name in names)]
        versions = [each async for each in q.schemas.definitions("s-2", "n00")]
        assert [(each.name, each.definition) for each in versions] == [
            (name, b'"string"') for name in names[:10]
        ]

        await q.schemas.bind("s-1", "$SYS/x y", "order")
        await q.schemas.bind_many(
            [BindSchema(tenant="s-2", resource="/t", name=name) for name in names]
        )
        assert len([each async for each in q.schemas.bindings()]) == 121
        bound = [each.resource async for each in q.schemas.bindings("s-2", name="n005")]
        assert bound == ["/t"]
        of_topic = [each.name async for each in q.schemas.bindings("s-1", resource="$SYS/x y")]
        assert of_topic == ["order"]
        await q.schemas.unbind("s-1", "$SYS/x y", "order")
        await q.schemas.unbind("s-1", "$SYS/x y", "order", missing_ok=True)
        await q.schemas.delete("s-1", "order")
        await q.schemas.delete("s-1", "order", missing_ok=True)
        assert not (await q.schemas.delete_many("s-1", ["order"], missing_ok=True)).refusals

        await q.tenants.delete("s-2", cascade=True)
        async with asyncio.timeout(60):
            while [each async for each in q.schemas.list() if each.tenant == "s-2"]:
                await asyncio.sleep(0.05)


def test_without_await(node: Cluster) -> None:
    with Client(node.endpoints) as q:
        q.tenants.create("w-1")
        assert [tenant.name for tenant in q.tenants.list("w-")] == ["w-1"]
        q.resources.put("w/1", b"1")
        assert [each.resource.value for each in q.resources.list("w/")] == [b"1"]
        q.schemas.put("w-1", "order", SCHEMA_KIND_JSON, b"{}")
        assert [each.name for each in q.schemas.list("w-1")] == ["order"]
