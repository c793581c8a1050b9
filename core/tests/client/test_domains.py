"""Tenants, resources and schemas through both clients, against a node that is complete."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from quorate.builtin.resource.plugin import RESOURCES
from quorate.builtin.schema.plugin import BINDING, SCHEMA
from quorate.builtin.tenant.plugin import TENANTS
from quorate.client import Client, InvalidError, Records, RejectedError, SyncRecords, connect
from quorate.testing.cluster import Cluster
from quorate.v1 import schema_pb2 as pb
from quorate.v1.resource_pb2 import PutResource, StoredResource
from quorate.v1.tenant_pb2 import Tenant

JSON = pb.SCHEMA_KIND_JSON


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("domains"), nodes=1) as cluster:
        yield cluster.ready()


async def test_tenants(node: Cluster) -> None:
    async with connect(node.endpoints) as q:
        tenants = q.records(TENANTS)
        made = await tenants.create(Tenant(name="a-1", description="old", limits={"topics": 1}))
        with pytest.raises(RejectedError, match="ALREADY_EXISTS"):
            await tenants.create(Tenant(name="a-1"))
        limited = await tenants.update(Tenant(name="a-1", limits={"users": 2}))
        assert (limited.description, dict(limited.limits)) == ("old", {"users": 2})
        cleared = await tenants.update(Tenant(name="a-1"), fields=["description"])
        assert (cleared.description, dict(cleared.limits)) == ("", {"users": 2})
        put = await tenants.put(Tenant(name="a-1", description="new"))
        assert (put.id, put.description, dict(put.limits)) == (made.id, "new", {})
        assert await tenants.get("a-1") == put
        assert await tenants.get("a-none") is None

        rest = [f"a-{number}" for number in range(2, 150)]
        await tenants.create([Tenant(name=name) for name in rest])
        await tenants.update([Tenant(name="a-2", description="two")])
        await tenants.put([Tenant(name="a-3", description="three")])
        listed = {each.name: each.description async for each in tenants.list(prefix="a-")}
        assert sorted(listed) == sorted(["a-1", *rest])
        assert (listed["a-2"], listed["a-3"]) == ("two", "three")

        await tenants.delete("a-1")
        with pytest.raises(RejectedError, match="NOT_FOUND"):
            await tenants.delete("a-none", cascade=True)
        assert await tenants.delete("a-none", missing_ok=True) == Tenant()
        with pytest.raises(InvalidError, match="forever: is none of"):
            await tenants.delete("a-2", forever=True)
        deleted = await tenants.delete(["a-2", "a-none"], missing_ok=True, cascade=True)
        assert not deleted.refusals


async def test_resources(node: Cluster) -> None:
    async with connect(node.endpoints) as q:
        resources: Records[Any] = q.records(RESOURCES)
        made = await resources.do("Put", put("settings/a", b"1", 0), StoredResource)
        with pytest.raises(RejectedError, match="REVISION_MISMATCH"):
            await resources.do("Put", put("settings/a", b"2", 0))
        newer = await resources.do("Put", put("settings/a", b"2", made.revision), StoredResource)
        with pytest.raises(RejectedError, match="REVISION_MISMATCH"):
            await resources.do("Put", put("settings/a", b"3", made.revision))
        assert await resources.get("settings/a") == newer
        assert await resources.get("settings/none") is None

        many = [f"many/{number:03}" for number in range(150)]
        await resources.do("Put", [put(path, b"v") for path in many])
        assert [each.resource.path async for each in resources.list(prefix="many/")] == many
        found = await resources.get(["many/001", "settings/none"])
        assert [each and each.resource.path for each in found] == ["many/001", None]

        await resources.delete("settings/a", expected_revision=newer.revision)
        with pytest.raises(RejectedError, match="NOT_FOUND"):
            await resources.delete("settings/a")
        await resources.delete("settings/a", missing_ok=True)
        deleted = await resources.delete(["settings/a", "many/001"], missing_ok=True)
        assert not deleted.refusals


async def test_schemas(node: Cluster) -> None:
    async with connect(node.endpoints) as q:
        tenants, schemas, bindings = q.records(TENANTS), q.records(SCHEMA), q.records(BINDING)
        await tenants.put([Tenant(name="s-1"), Tenant(name="s-2")])
        order: dict[str, Any] = {"tenant": "s-1", "name": "order"}
        await schemas.do("Create", pb.CreateSchema(**order, kind=JSON, definition=b"1"))
        described = await schemas.do(
            "Update", pb.UpdateSchema(**order, description="Orders."), pb.Schema
        )
        assert (described.version, described.description) == (1, "Orders.")
        newer = await schemas.do(
            "Update", pb.UpdateSchema(**order, definition=b"2", expected_version=1), pb.Schema
        )
        assert (newer.version, newer.description) == (2, "Orders.")
        same = await schemas.do("Put", pb.PutSchema(**order, kind=JSON, definition=b"2"), pb.Schema)
        assert (same.version, same.description) == (2, "")
        first = await schemas.ask("Get", pb.GetSchema(**order, version=1), pb.SchemaVersion)
        assert first.definition == b"1"
        with pytest.raises(RejectedError, match="NOT_FOUND"):
            await schemas.ask("Get", pb.GetSchema(tenant="s-1", name="none"), pb.SchemaVersion)
        with pytest.raises(InvalidError):
            await schemas.do("Update", pb.UpdateSchema(**order))

        names = [f"n{number:03}" for number in range(120)]
        common: dict[str, Any] = {
            "tenant": "s-2",
            "kind": pb.SCHEMA_KIND_AVRO,
            "definition": b'"string"',
        }
        await schemas.do("Create", [pb.CreateSchema(name=name, **common) for name in names])
        await schemas.do("Put", [pb.PutSchema(name="n000", description="first", **common)])
        reply = await schemas.update(
            [pb.Schema(tenant="s-2", name="n001", description="second")], fields=["description"]
        )
        assert pb.Schema.FromString(reply.replies[0]).description == "second"
        listed = [(each.tenant, each.name) async for each in schemas.list()]
        # Other tests share the node, in any order.
        mine = [each for each in listed if each[0] in ("s-1", "s-2")]
        assert mine == [("s-1", "order"), *(("s-2", name) for name in names)]
        newest = pb.ListSchemas(tenant="s-2", prefix="n00", definitions=True)
        page = await schemas.ask("List", newest, pb.SchemaPage)
        assert [(each.name, each.definition) for each in page.versions] == [
            (name, b'"string"') for name in names[:10]
        ]

        topic = pb.SchemaBinding(**order, resource="$SYS/x y")
        await bindings.do("Bind", topic)
        await bindings.do(
            "Bind", [pb.BindSchema(tenant="s-2", resource="/t", name=name) for name in names]
        )
        assert len([each async for each in bindings.list()]) == 121
        bound = [each.resource async for each in bindings.list(tenant="s-2", name="n005")]
        assert bound == ["/t"]
        of_topic = bindings.list(tenant="s-1", resource="$SYS/x y")
        assert [each.name async for each in of_topic] == ["order"]
        await bindings.do("Unbind", topic)
        unbind = pb.UnbindSchema(**order, resource="$SYS/x y", missing_ok=True)
        await bindings.do("Unbind", unbind)
        await schemas.delete("s-1", "order")
        await schemas.delete("s-1", "order", missing_ok=True)
        assert not (await schemas.delete([("s-1", "order")], missing_ok=True)).refusals

        await tenants.delete("s-2", cascade=True)
        async with asyncio.timeout(60):
            while [each async for each in schemas.list() if each.tenant == "s-2"]:
                await asyncio.sleep(0.05)


def test_without_await(node: Cluster) -> None:
    with Client(node.endpoints) as q:
        q.records(TENANTS).create(Tenant(name="w-1"))
        assert [tenant.name for tenant in q.records(TENANTS).list(prefix="w-")] == ["w-1"]
        resources: SyncRecords[Any] = q.records(RESOURCES)
        resources.do("Put", put("w/1", b"1"))
        assert [each.resource.value for each in resources.list(prefix="w/")] == [b"1"]
        order = pb.PutSchema(tenant="w-1", name="order", kind=JSON, definition=b"{}")
        q.records(SCHEMA).do("Put", order)
        assert [each.name for each in q.records(SCHEMA).list(tenant="w-1")] == ["order"]


def put(path: str, value: bytes, expected_revision: int | None = None) -> PutResource:
    return PutResource(path=path, value=value, expected_revision=expected_revision)
