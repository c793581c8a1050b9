"""`hasleader`: without a leader such calls are refused, and such streams end; others wait."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import grpc.aio
import pytest
from quorate.plugin.advanced import NotProposedError, ShardStatus, Stub
from quorate.testing import MemoryNode
from quorate.testing.ports import free_ports
from quorate.testing.waiting import PATIENCE_S
from quorate_etcd import errors
from quorate_etcd.serving import leadership
from quorate_etcd.serving.http import routes
from quorate_etcd.wire import rpc_pb2 as rpc

_REQUIRED = (("hasleader", "true"),)


class Door:
    """A node whose shard has a leader, or has none."""

    def __init__(self, node: MemoryNode, channel: grpc.aio.Channel) -> None:
        self.kv = Stub(channel, routes.KV)
        self.watch = Stub(channel, routes.WATCH)
        self.lease = Stub(channel, routes.LEASE)
        self.led: bool | None = True
        self._shard = node.shard
        node.shard = self.shard  # type: ignore[method-assign]

    def shard(self, group: str, shard_key: bytes = b"") -> ShardStatus:
        if self.led is None:
            raise NotProposedError("the cluster is being founded")
        status = self._shard(group, shard_key)
        return status if self.led else replace(status, leader="")


@pytest.fixture
async def door(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Door]:
    monkeypatch.setattr(leadership, "_LOOK_S", 0.02)
    [port] = free_ports(0)
    async with (
        MemoryNode(["etcd"], config={"etcd": {"port": port}}) as node,
        grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel,
    ):
        yield Door(node, channel)


async def refused(call: Any) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await call
    assert (raised.value.code().name, raised.value.details()) == errors.NO_LEADER


async def begun(door: Door, metadata: Any) -> Any:
    stream = door.watch.Watch(metadata=metadata, timeout=PATIENCE_S)
    create = rpc.WatchCreateRequest(key=b"a")
    await stream.write(rpc.WatchRequest(create_request=create))
    assert (await stream.read()).created
    return stream


async def test_a_call_that_requires_a_leader_is_refused_at_once(door: Door) -> None:
    put = rpc.PutRequest(key=b"a")
    await door.kv.Put(put, metadata=_REQUIRED)
    door.led = False
    await refused(door.kv.Put(put, metadata=_REQUIRED))
    await door.kv.Put(put, metadata=(("hasleader", "false"),))
    await door.kv.Put(put)


async def test_streams_that_require_a_leader_end_without_one(door: Door) -> None:
    watch, other = await begun(door, _REQUIRED), await begun(door, ())
    renewing = door.lease.LeaseKeepAlive(metadata=_REQUIRED, timeout=PATIENCE_S)
    await renewing.write(rpc.LeaseKeepAliveRequest(ID=1))
    assert (await renewing.read()).TTL == 0
    await door.kv.Put(rpc.PutRequest(key=b"a"))
    for stream in (watch, other):
        assert (await stream.read()).events
    door.led = False
    await refused(watch.read())
    await refused(renewing.read())
    await refused(door.watch.Watch(metadata=_REQUIRED, timeout=PATIENCE_S).read())
    await door.kv.Put(rpc.PutRequest(key=b"a"))
    assert (await other.read()).events


async def test_a_cluster_that_is_being_founded_has_no_leader(door: Door) -> None:
    watch = await begun(door, _REQUIRED)
    door.led = None
    await refused(watch.read())


async def test_a_short_absence_ends_no_stream(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leadership, "_LOOKS", 1_000_000)
    watch = await begun(door, _REQUIRED)
    door.led = False
    await asyncio.sleep(0.1)
    door.led = True
    await door.kv.Put(rpc.PutRequest(key=b"a"))
    assert (await watch.read()).events
