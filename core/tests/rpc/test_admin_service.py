"""The service over ports that only write down what they are asked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import TYPE_CHECKING, Any, cast

import grpc
import grpc.aio
import pytest
from quorate.config.sections import LimitsSection, TlsSection
from quorate.consensus.messages import Peer
from quorate.consensus.refusals import TransferRefusedError
from quorate.node.admin_service import AdminService
from quorate.plugin import keys
from quorate.plugin.advanced import Stub
from quorate.plugin.shard_id import ShardId
from quorate.rpc.server import RpcServer
from quorate.shards.refusals import NoLeaderError
from quorate.shards.routing.quotas import Quotas, Subject
from quorate.shards.snapshots.parts import BackupError
from quorate.v1 import admin_pb2
from quorate.v1.levels_pb2 import FeatureLevel
from quorate.v1.quota_pb2 import Quota

if TYPE_CHECKING:
    from core.tests.rpc.conftest import Told

ReadError = Callable[[grpc.aio.AioRpcError], "Told"]
PART = admin_pb2.BackupPart(path="kv-0/1.sst", offset=0, content=b"1234", size=8)


class Ports:
    """All that the service asks."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []
        self.error: Exception | None = None
        self.parts_left = 1
        self.let_go = asyncio.Event()
        self.runner = self

    def topology(self) -> admin_pb2.TopologyResponse:
        return admin_pb2.TopologyResponse(cluster_id=b"c")

    def status(self, *, replicas: bool) -> admin_pb2.NodeStatusResponse:
        return admin_pb2.NodeStatusResponse(node="n1" if replicas else "n1 alone")

    def pause(self, name: str) -> None:
        self._ask("pause", name)

    def resume(self, name: str) -> None:
        self._ask("resume", name)

    async def transfer(self, shard: ShardId, node: str, timeout_s: float) -> None:
        self._ask("transfer", shard, node, timeout_s)

    async def back_up(self, only: object) -> AsyncGenerator[admin_pb2.BackupPart, None]:
        try:
            while self.parts_left:
                self.parts_left -= 1
                yield PART
            self._ask("back up")
        finally:
            self.let_go.set()

    async def add(self, node: str, address: str) -> AsyncIterator[admin_pb2.MemberProgress]:
        self._ask("add", node, address)
        yield admin_pb2.MemberProgress(shard="kv/0", step="voter")

    async def remove(
        self, node: str, *, force: bool = False
    ) -> AsyncIterator[admin_pb2.MemberProgress]:
        self._ask("remove", node, force)
        yield admin_pb2.MemberProgress(shard="kv/0", step="gone")

    async def recover(self, shard: ShardId, request: admin_pb2.RecoverShardRequest) -> int:
        self._ask("recover", shard, request.node, request.empty)
        return 3

    async def purge(self, plugin: str, count_only: bool) -> AsyncIterator[admin_pb2.PurgedRows]:
        self._ask("purge", plugin, count_only)
        yield admin_pb2.PurgedRows(shard="kv/0", family="kv.pairs", rows=3)

    async def reset_fences(self, prefix: bytes, above: int) -> int:
        self._ask("reset", prefix, above)
        return 2

    async def finish_upgrade(self) -> list[FeatureLevel]:
        self._ask("finish")
        return [FeatureLevel(feature="core", level=2)]

    def _ask(self, *asked: Any) -> None:
        self.asked.append(asked)
        if self.error is not None:
            raise self.error


class Keeping(AdminService):
    """Holds on to its streams, so that none is closed for want of a reader."""

    streams: list[Any]

    def Backup(self, request: Any, context: object) -> Any:
        self.streams = [super().Backup(request, context)]
        return self.streams[0]


@pytest.fixture
def ports() -> Ports:
    return Ports()


@pytest.fixture
async def stub(ports: Ports, limits: LimitsSection) -> AsyncIterator[Any]:
    server = RpcServer(limits)
    each: Any = ports
    quotas = Quotas(lambda: 0.0)
    for name in ("ada", "ben"):
        row = Quota(kind="identity", name=name, watches=3)
        quotas.put("tenant.quotas", keys.pack("identity", name), row.SerializeToString())
        account = quotas.account(Subject("identity", name))
        assert account is not None
        account.open_watch()
    parts = (
        *(each,) * 8,
        quotas,
        each,
    )
    Keeping(*parts, each, lambda family: None, None).add_to(server)
    port = server.bind("127.0.0.1", 0, TlsSection())
    await server.start()
    try:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            yield cast(Any, Stub(channel, admin_pb2.DESCRIPTOR.services_by_name["AdminService"]))
    finally:
        await server.stop(0)


async def test_reports_are_given_as_they_are(stub: Any) -> None:
    assert (await stub.Topology(admin_pb2.TopologyRequest(), timeout=10)).cluster_id == b"c"
    assert (await stub.Status(admin_pb2.NodeStatusRequest(), timeout=10)).node == "n1"
    alone = admin_pb2.NodeStatusRequest(without_replicas=True)
    assert (await stub.Status(alone, timeout=10)).node == "n1 alone"


async def test_an_upgrade_is_finished_by_metadata(stub: Any, ports: Ports) -> None:
    answer = await stub.FinishUpgrade(admin_pb2.FinishUpgradeRequest(), timeout=10)
    assert list(answer.raised) == [FeatureLevel(feature="core", level=2)]
    assert ports.asked == [("finish",)]


async def test_what_is_used_of_quotas_is_told_of_those_that_are_asked_for(stub: Any) -> None:
    async def asked(**request: str) -> list[tuple[str, str, int, int]]:
        answer = await stub.QuotaUsage(admin_pb2.QuotaUsageRequest(**request), timeout=10)
        return [(use.name, use.quota, use.limit, use.used) for use in answer.uses]

    assert await asked() == [("ada", "watches", 3, 1), ("ben", "watches", 3, 1)]
    assert await asked(kind="identity", name="ben") == [("ben", "watches", 3, 1)]
    assert await asked(kind="tenant") == []


async def test_a_transfer_has_as_long_as_its_caller_gives(stub: Any, ports: Ports) -> None:
    request = admin_pb2.TransferLeaderRequest(shard="kv/3", node="n2")
    await stub.TransferLeader(request, timeout=5)
    await stub.TransferLeader(request)

    [(what, shard, node, given_s), (*_, own_s)] = ports.asked
    assert (what, shard, node) == ("transfer", ShardId("kv", 3), "n2")
    assert 0 < given_s < own_s == 10


@pytest.mark.parametrize(
    ("method", "request_", "field"),
    [
        ("TransferLeader", admin_pb2.TransferLeaderRequest(shard="kv", node="n2"), "shard"),
        ("TransferLeader", admin_pb2.TransferLeaderRequest(shard="kv/0"), "node"),
        ("RecoverShard", admin_pb2.RecoverShardRequest(shard="kv", node="n2"), "shard"),
        ("RecoverShard", admin_pb2.RecoverShardRequest(shard="kv/0"), "node"),
        ("PauseController", admin_pb2.PauseControllerRequest(name="x"), "name"),
        ("ResumeController", admin_pb2.ResumeControllerRequest(name="x"), "name"),
    ],
)
async def test_what_cannot_be_meant_names_its_field(
    stub: Any, ports: Ports, told: ReadError, method: str, request_: Any, field: str
) -> None:
    ports.error = LookupError("controller x is not declared; declared are none")
    with pytest.raises(grpc.aio.AioRpcError) as failed:
        await getattr(stub, method)(request_, timeout=10)

    found = told(failed.value)
    assert (found.code, found.field) == (grpc.StatusCode.INVALID_ARGUMENT, field)


@pytest.mark.parametrize(
    ("method", "request_", "field"),
    [
        ("AddMember", admin_pb2.AddMemberRequest(address="127.0.0.1:1"), "node"),
        ("AddMember", admin_pb2.AddMemberRequest(node="n4"), "address"),
        ("RemoveMember", admin_pb2.RemoveMemberRequest(), "node"),
    ],
)
async def test_a_change_of_members_without_a_name_names_its_field(
    stub: Any, ports: Ports, told: ReadError, method: str, request_: Any, field: str
) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as failed:
        _ = [each async for each in getattr(stub, method)(request_, timeout=10)]

    assert told(failed.value).field == field
    assert ports.asked == []


async def test_a_refused_transfer_says_why(stub: Any, ports: Ports, told: ReadError) -> None:
    ports.error = TransferRefusedError("n2 holds the log up to index 3 of 90")
    with pytest.raises(grpc.aio.AioRpcError) as failed:
        await stub.TransferLeader(
            admin_pb2.TransferLeaderRequest(shard="kv/3", node="n2"), timeout=10
        )

    found = told(failed.value)
    assert (found.code, found.reason) == (
        grpc.StatusCode.FAILED_PRECONDITION,
        "TRANSFER_REFUSED",
    )
    assert "up to index 3 of 90" in found.text
    assert "retry" not in found.metadata


async def test_who_leads_is_told_to_whoever_asked_another_node(
    stub: Any, ports: Ports, told: ReadError
) -> None:
    ports.error = NoLeaderError(ShardId("kv", 3), Peer("n3", 7))
    with pytest.raises(grpc.aio.AioRpcError) as failed:
        await stub.TransferLeader(
            admin_pb2.TransferLeaderRequest(shard="kv/3", node="n2"), timeout=10
        )

    found = told(failed.value)
    assert (found.reason, found.metadata["leader"]) == ("NO_LEADER", "n3")


async def test_steps_of_a_change_of_members_are_streamed(stub: Any, ports: Ports) -> None:
    added = stub.AddMember(admin_pb2.AddMemberRequest(node="n4", address="127.0.0.1:1"), timeout=10)
    assert [each.step async for each in added] == ["voter"]

    removed = stub.RemoveMember(admin_pb2.RemoveMemberRequest(node="n4", force=True), timeout=10)
    assert [each.step async for each in removed] == ["gone"]
    assert ports.asked == [("add", "n4", "127.0.0.1:1"), ("remove", "n4", True)]


async def test_a_recovery_tells_which_one_it_is(stub: Any, ports: Ports) -> None:
    request = admin_pb2.RecoverShardRequest(shard="kv/3", node="n2", empty=True)
    assert (await stub.RecoverShard(request, timeout=10)).epoch == 3
    assert ports.asked == [("recover", ShardId("kv", 3), "n2", True)]


async def test_a_backup_comes_part_by_part(stub: Any, ports: Ports) -> None:
    ports.parts_left = 2
    found = [each async for each in stub.Backup(admin_pb2.BackupRequest(), timeout=10)]

    part = admin_pb2.BackupPart(path="kv-0/1.sst", offset=0, content=b"1234", size=8)
    assert found == [part, part]


async def test_a_backup_that_nobody_takes_any_more_is_let_go(stub: Any, ports: Ports) -> None:
    """Flow control stops it after a while; its reader's end must reach it there."""
    ports.parts_left = 1 << 40
    call = stub.Backup(admin_pb2.BackupRequest(), timeout=10)
    await call.read()
    assert not ports.let_go.is_set()

    call.cancel()
    async with asyncio.timeout(10):
        await ports.let_go.wait()


async def test_a_backup_that_cannot_be_made_says_why(
    stub: Any, ports: Ports, told: ReadError
) -> None:
    ports.error = BackupError("shard kv/3 has no replica on this node")
    with pytest.raises(grpc.aio.AioRpcError) as failed:
        _ = [each async for each in stub.Backup(admin_pb2.BackupRequest(), timeout=10)]

    found = told(failed.value)
    assert (found.code, found.text) == (
        grpc.StatusCode.FAILED_PRECONDITION,
        "shard kv/3 has no replica on this node",
    )
