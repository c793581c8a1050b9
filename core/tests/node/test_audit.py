"""What a node records of the calls that come to it, and what it never records."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc
import grpc.aio
import pytest
from quorate.client import AsyncClient, QuorateError, RejectedError, connect
from quorate.config import load
from quorate.node.node import Node
from quorate.observe.audit import AuditError
from quorate.plugin.advanced import Stub
from quorate.plugin.catalog import Catalog, build
from quorate.plugin.discovery import installed
from quorate.v1 import admin_pb2, audit_pb2, auth_pb2, command_pb2, kv_pb2, tenant_pb2
from quorate.v1.batch_pb2 import BatchReply

if TYPE_CHECKING:
    from core.tests.node.conftest import Nodes

Records = list[dict[str, Any]]
ADMIN = admin_pb2.DESCRIPTOR.services_by_name["AdminService"]
AUDIT = audit_pb2.DESCRIPTOR.services_by_name["AuditService"]
COMMANDS = command_pb2.DESCRIPTOR.services_by_name["CommandService"]
KV = kv_pb2.DESCRIPTOR.services_by_name["KvService"]
TENANTS = tenant_pb2.DESCRIPTOR.services_by_name["TenantService"]


@pytest.fixture(scope="module")
def builtin() -> Catalog:
    """Return what core serves by itself."""
    return build([each for each in installed() if each.distribution == "quorate"])


@dataclass(frozen=True)
class Audited:
    """A node, a client of it, and the file that it records in."""

    node: Node
    address: str
    q: AsyncClient
    file: Path

    async def records(self, count: int = 1) -> Records:
        """Return the records as soon as there are so many."""
        async with asyncio.timeout(10):
            while len(found := self.file.read_text().splitlines()) < count:
                await asyncio.sleep(0.01)
        return [json.loads(line) for line in found]


@asynccontextmanager
async def audited(nodes: Nodes, catalog: Catalog, more: str = "") -> AsyncIterator[Audited]:
    [path] = nodes.files(1)
    file = path.with_name("audit.jsonl")
    path.write_text(f'{path.read_text()}\n[audit]\nfile = "{file}"\n{more}')
    settings = load(path, catalog.sections, {})
    node = Node(settings, catalog)
    try:
        async with asyncio.timeout(20):
            await node.start()
            await node.ready()
        async with connect(settings.node.address, timeout_s=10) as q:
            yield Audited(node, settings.node.address, q, file)
    finally:
        await nodes.end(node)


async def test_a_write_is_recorded_without_its_value(nodes: Nodes, builtin: Catalog) -> None:
    async with audited(nodes, builtin) as at:
        revision = (await at.q.kv.put("jobs/1", b"the secret")).revision
        [record] = await at.records()
        text = at.file.read_text()

    assert record["domain"] == "kv"
    assert record["action"] == "quorate.v1.PutPair"
    assert record["keys"] == ["jobs/1"]
    assert (record["outcome"], record["revisions"]) == ("OK", {"metadata/0": revision})
    assert record["address"].startswith("127.0.0.1:")
    assert (record["identity"], record["node"]) == ("", "n1")
    assert "the secret" not in text


async def test_a_refusal_is_recorded_by_its_key(nodes: Nodes, builtin: Catalog) -> None:
    new = kv_pb2.PutPair(key=b"b", expected_revision=0)
    async with audited(nodes, builtin) as at:
        await at.q.kv.put("b", b"1")
        with pytest.raises(RejectedError):
            await at.q.kv.put("b", b"2", expected_revision=0)
        await at.q.execute(kv_pb2.PutPairs(pairs=[kv_pb2.PutPair(key=b"c"), new]), BatchReply)
        _, single, batch = await at.records(3)

    assert (single["keys"], single["reason"]) == (["b"], "REVISION_MISMATCH")
    assert (batch["keys"], batch["outcome"]) == (["c", "b"], "OK")
    assert batch["refused"] == [{"key": "b", "reason": "REVISION_MISMATCH"}]


async def test_a_transaction_is_recorded_with_all_its_keys(nodes: Nodes, builtin: Catalog) -> None:
    async with audited(nodes, builtin) as at:
        await at.q.kv.commit([kv_pb2.PutPair(key=b"j/1"), kv_pb2.DeletePair(key=b"j/2")])
        [record] = await at.records()

    assert record["keys"] == ["j/1", "j/2"]


async def test_a_batch_of_many_keys_has_all_of_them(nodes: Nodes, builtin: Catalog) -> None:
    async with audited(nodes, builtin) as at:
        await at.q.kv.put_many({f"{number:04}": b"" for number in range(1_500)})
        found = await at.records(2)

    keys = [key for each in found for key in each["keys"]]
    assert sorted(keys) == [f"{number:04}" for number in range(1_500)]
    assert max(len(each["keys"]) for each in found) <= 1_000


async def test_what_a_stream_carries_is_recorded_by_command(nodes: Nodes, builtin: Catalog) -> None:
    put = kv_pb2.PutPairs(pairs=[kv_pb2.PutPair(key=b"s")])
    command = command_pb2.Command(type=put.DESCRIPTOR.full_name, payload=put.SerializeToString())
    async with audited(nodes, builtin) as at:
        async with grpc.aio.insecure_channel(at.address) as channel:
            call = Stub(channel, COMMANDS).Stream(
                iter([command_pb2.StreamRequest(commands=[command, command])])
            )
            async for _ in call:
                pass
        found = await at.records(2)

    assert [each["keys"] for each in found] == [["s"], ["s"]]
    assert {each["method"] for each in found} == {"/quorate.v1.CommandService/Stream"}


async def test_a_caller_that_leaves_is_recorded_all_the_same(
    nodes: Nodes, builtin: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with audited(nodes, builtin) as at:
        reached = asyncio.Event()

        async def stuck(*_: object) -> None:
            reached.set()
            await asyncio.Event().wait()

        monkeypatch.setattr(at.node.router._delivery, "deliver_all", stuck)
        put = kv_pb2.PutPair(key=b"left")
        async with grpc.aio.insecure_channel(at.address) as channel:
            call = Stub(channel, KV).Put(put)
            await asyncio.wait_for(reached.wait(), 10)
            call.cancel()
        [record] = await at.records()

    assert record["keys"] == ["left"]
    assert (record["outcome"], record["reason"]) == ("UNAVAILABLE", "OUTCOME_UNKNOWN")


async def test_an_invalid_command_is_recorded_without_its_text(
    nodes: Nodes, builtin: Catalog
) -> None:
    async with audited(nodes, builtin) as at:
        async with grpc.aio.insecure_channel(at.address) as channel:
            with pytest.raises(grpc.aio.AioRpcError):
                await Stub(channel, KV).Put(kv_pb2.PutPair(key=b"", value=b"the secret"))
        [record] = await at.records()

    assert (record["outcome"], record["reason"]) == ("INVALID_ARGUMENT", "INVALID")
    assert "the secret" not in json.dumps(record)


async def test_administration_is_recorded_with_its_request(nodes: Nodes, builtin: Catalog) -> None:
    async with audited(nodes, builtin) as at:
        async with grpc.aio.insecure_channel(at.address) as channel:
            admin = Stub(channel, ADMIN)
            await admin.Status(admin_pb2.NodeStatusRequest())
            with pytest.raises(grpc.aio.AioRpcError):
                await admin.PauseController(admin_pb2.PauseControllerRequest(name="none"))
        [record] = await at.records()

    assert record["domain"] == "admin"
    assert record["action"] == "/quorate.v1.AdminService/PauseController"
    assert (record["request"], record["outcome"]) == ({"name": "none"}, "INVALID_ARGUMENT")


@pytest.mark.parametrize("omitted", ["kv", "quorate.v1.PutPair"])
async def test_what_is_omitted_has_no_record(nodes: Nodes, builtin: Catalog, omitted: str) -> None:
    async with audited(nodes, builtin, f'omit = ["{omitted}"]') as at:
        await at.q.kv.put("a", b"")
        async with grpc.aio.insecure_channel(at.address) as channel:
            await Stub(channel, TENANTS).Create(tenant_pb2.CreateTenant(name="acme"))
        [record] = await at.records()

    assert record["domain"] == "tenant"


async def test_a_follower_sees_what_is_recorded_from_then_on(
    nodes: Nodes, builtin: Catalog
) -> None:
    async with audited(nodes, builtin) as at, grpc.aio.insecure_channel(at.address) as channel:
        follow = Stub(channel, AUDIT).Follow(audit_pb2.FollowAudit(domains=["kv"]))
        assert (await follow.read()).records == []
        await at.q.kv.put("a", b"")
        async with asyncio.timeout(10):
            [seen] = (await follow.read()).records
        [written] = await at.records()
        assert json.loads(seen) == written
        ending = asyncio.create_task(nodes.end(at.node))
        with pytest.raises(grpc.aio.AioRpcError, match="the node stops"):
            await follow.read()
        await ending


async def test_nothing_is_followed_where_nothing_is_recorded(nodes: Nodes) -> None:
    [path] = nodes.files(1)
    async with nodes.started(path) as [node]:
        port = node._settings.node.port
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            with pytest.raises(grpc.aio.AioRpcError, match=r"records nothing; set audit\.file"):
                await Stub(channel, AUDIT).Follow(audit_pb2.FollowAudit()).read()


async def test_a_node_does_not_start_without_its_audit_log(nodes: Nodes) -> None:
    [path] = nodes.files(1, more='[audit]\nfile = "/proc/none/audit.jsonl"')
    with pytest.raises(AuditError, match=r"correct audit\.file"):
        nodes.new(path)


async def test_who_calls_and_who_was_refused_is_recorded(nodes: Nodes, builtin: Catalog) -> None:
    async with audited(nodes, builtin) as at:
        made = await at.q.call(
            "/quorate.v1.AuthService/Enable",
            auth_pb2.EnableAuth(administrator="ada"),
            auth_pb2.NewToken,
        )
        async with connect(at.address, token=made.text) as q:
            await q.kv.put("a", b"1")
        with pytest.raises(RejectedError):
            await at.q.kv.get("a")
        async with connect(at.address, token="no.such-token") as q:
            with pytest.raises(RejectedError):
                await q.kv.put("b", b"1")
        text = at.file.read_text()
        found = await at.records(4)

    assert made.text not in text
    put = next(each for each in found if each.get("keys") == ["a"])
    assert (put["identity"], put["outcome"]) == ("ada", "OK")
    refused = [each for each in found if each["outcome"] == "UNAUTHENTICATED"]
    assert {each["method"] for each in refused} == {"/quorate.v1.AdminService/Topology"}
    assert {each["identity"] for each in refused} == {""}


async def test_a_row_tells_its_last_writer(nodes: Nodes, builtin: Catalog) -> None:
    asked = audit_pb2.FindWriter(family="kv.pairs", key=b"a")
    async with audited(nodes, builtin, "writers = true") as at:
        await at.q.kv.put("a", b"1")
        revision = (await at.q.kv.put("a", b"2")).revision
        found = await at.q.call("/quorate.v1.AuditService/Writer", asked, audit_pb2.RowWriter)
        refused = []
        for request in (
            audit_pb2.FindWriter(family="kv.pairs", key=b"b"),
            audit_pb2.FindWriter(family="nobody.knows"),
        ):
            with pytest.raises(QuorateError) as raised:
                await at.q.call("/quorate.v1.AuditService/Writer", request, audit_pb2.RowWriter)
            refused.append(str(raised.value))

    assert (found.known, found.identity, found.revision) == (True, "", revision)
    assert found.written_at_ms > 0
    assert "kv.pairs has no such row" in refused[0]
    assert "no column family nobody.knows" in refused[1]


async def test_what_a_port_of_a_plugin_writes_names_whom_it_has_let_in(
    nodes: Nodes, builtin: Catalog
) -> None:
    async with audited(nodes, builtin, "writers = true") as at:
        api = at.node.api
        with api.acting("ann", "192.0.2.7:4711"):
            await api.propose(kv_pb2.PutPair(key=b"a"), kv_pb2.PutPairReply)
            ordered = api.ordered()
            await ordered.propose(kv_pb2.PutPair(key=b"b"), kv_pb2.PutPairReply)
        await api.propose(kv_pb2.PutPair(key=b"c"), kv_pb2.PutPairReply)
        await ordered.close()
        writers = []
        for key in (b"a", b"b", b"c"):
            asked = audit_pb2.FindWriter(family="kv.pairs", key=key)
            found = await at.q.call("/quorate.v1.AuditService/Writer", asked, audit_pb2.RowWriter)
            writers.append(found.identity)
        records = await at.records(3)

    assert writers == ["ann", "ann", ""]
    assert [(each["identity"], each["address"]) for each in records[:3]] == [
        ("ann", "192.0.2.7:4711"),
        ("ann", "192.0.2.7:4711"),
        ("", ""),
    ]
