"""Watches of real nodes, through their sockets and through their plugins' view."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import grpc
import grpc.aio
import pytest
from quorate.builtin.resource import plugin
from quorate.node.node import Node
from quorate.plugin import RowEvent
from quorate.plugin.advanced import Stub
from quorate.plugin.catalog import build
from quorate.plugin.discovery import Plugin
from quorate.plugin.shard_id import ShardId
from quorate.v1 import watch_pb2
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.resource_pb2 import PutResource, PutResources, Resource
from quorate.v1.watch_pb2 import WatchEvent

if TYPE_CHECKING:
    from core.tests.node.conftest import Nodes

ROWS = "toy.rows"
TOYS = ShardId("toy", 0), ShardId("toy", 1)
#: Keys of both shards.
FRUIT = "apple", "banana", "cherry", "date", "fig", "grape", "kiwi", "lime"


@asynccontextmanager
async def watching(node: Node, family: str = ROWS, token: bytes = b"") -> AsyncIterator[Any]:
    """Watch a family on a node, through its socket."""
    async with grpc.aio.insecure_channel(node._settings.node.address) as channel:
        families = [watch_pb2.WatchedFamily(name=family)]
        request = watch_pb2.WatchRequest(families=families, token=token)
        yield Stub(channel, watch_pb2.DESCRIPTOR.services_by_name["WatchService"]).Watch(
            request, timeout=20
        )


async def read_until(call: Any, key: bytes) -> tuple[list[bytes], bytes]:
    """Read until a key comes; return it with those before it, and the last token."""
    found: list[bytes] = []
    while key not in found:
        response = await call.read()
        assert not response.HasField("resync"), response.resync.reason
        found += [event.key for event in response.events]
    return found, response.token


def lose_replica(node: Node, shard: ShardId) -> None:
    held = node.shards.get(shard)
    assert held is not None
    held.fail(RuntimeError("the disk is broken"))


async def test_a_node_without_replicas_gives_every_row_and_change(nodes: Nodes) -> None:
    async with nodes.started(*nodes.files(3)) as [node, other, _]:
        before, after = sorted(FRUIT[::2]), sorted(FRUIT[1::2])
        for key in before:
            await nodes.say(other.api, f"{key}=x")
        for shard in TOYS:
            lose_replica(node, shard)

        async with watching(node) as call:
            rows: list[WatchEvent] = []
            while not (response := await call.read()).listed:
                rows += response.events
            assert {event.kind for event in rows} == {WatchEvent.ROW}
            assert sorted(event.key.decode() for event in rows) == before
            assert {event.shard for event in rows} == {0, 1}
            for key in after:
                await nodes.say(other.api, f"{key}=x")
            # A command that was sent again, since its outcome was not known, writes its row again.
            changed: list[WatchEvent] = []
            while not {event.key.decode() for event in changed}.issuperset(after):
                changed += (await call.read()).events
            assert {event.key.decode() for event in changed} == set(after)
            assert len({(event.shard, event.revision) for event in changed}) == len(changed)

        # Caches and plugins go the same way.
        seen: set[bytes] = set()
        watch = node.api.watch(ROWS)
        async with asyncio.timeout(20):
            async for event in watch:
                if isinstance(event.event, RowEvent):
                    seen.add(event.event.key)
                if len(seen) == len(FRUIT):
                    break
            await watch.aclose()  # type: ignore[attr-defined]
            view = node.api.cache(nodes.cache)
            await nodes.say(other.api, "late=x")
            while b"late" not in view.rows:
                await asyncio.sleep(0.01)
        assert len(view.rows) == len(FRUIT) + 1


async def test_watches_do_not_hold_up_the_end_of_a_node(
    nodes: Nodes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "quorate.node")
    async with nodes.started(*nodes.files(3)) as [node, other, _]:
        await nodes.say(node.api, "a=1")
        async with watching(node) as call, watching(other) as elsewhere:
            _, _ = await read_until(call, b"a")
            while not (response := await call.read()).listed:
                pass
            token = response.token
            await read_until(elsewhere, b"a")

            await node.stop()

            with pytest.raises(grpc.aio.AioRpcError, match="this node is stopping") as ended:
                await call.read()
            assert ended.value.code() is grpc.StatusCode.UNAVAILABLE
            assert not [text for text in caplog.messages if "did not end" in text]
            await nodes.say(other.api, "b=1")
            async with watching(other, token=token) as resumed:
                assert set((await read_until(resumed, b"b"))[0]) == {b"b"}
            await read_until(elsewhere, b"b")


async def test_a_change_of_configuration_carries_what_was_before(nodes: Nodes) -> None:
    own = Plugin(name="resource", distribution="quorate", version="0", module=plugin)
    [path] = nodes.files(1)
    found: list[WatchEvent] = []
    async with (
        nodes.started(path, serving=build([own])) as [node],
        watching(node, "resource.resources") as call,
    ):
        assert (await call.read()).listed
        for value in (b"1", b"2"):
            put = PutResource(path="settings/x", value=value)
            await node.api.propose(PutResources(puts=[put]), BatchReply)
        while len(found) < 2:
            found += (await call.read()).events

    assert [event.kind for event in found] == [WatchEvent.CREATED, WatchEvent.UPDATED]
    assert Resource.FromString(found[1].previous) == Resource.FromString(found[0].value)
    assert Resource.FromString(found[1].value).value == b"2"
