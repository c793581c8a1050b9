"""The page on watches: its example runs against a node, and its kinds are those of the service."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc.aio
import pytest
from quorate.builtin.kv import plugin as kv
from quorate.builtin.resource import plugin as resource
from quorate.plugin import keys
from quorate.plugin.advanced import Stub
from quorate.plugin.catalog import build
from quorate.plugin.discovery import Plugin
from quorate.v1 import kv_pb2, resource_pb2, watch_pb2
from quorate.v1.kv_pb2 import Pair, PutPair, TouchPair
from quorate.v1.resource_pb2 import DeleteResource, PutResource, Resource
from quorate.v1.watch_pb2 import WatchedFamily, WatchEvent, WatchRequest

from tests.support.one_node import run_node, settings_of

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "watch.md"
TEXT = PAGE.read_text(encoding="utf-8")


@pytest.fixture
async def channel(tmp_path: Path) -> AsyncIterator[grpc.aio.Channel]:
    """A connection to a node of its own."""
    plugins = [
        Plugin(name=name, distribution="quorate", version="0", module=module)
        for name, module in (("kv", kv), ("resource", resource))
    ]
    catalog = build(plugins)
    settings = settings_of(tmp_path, catalog)
    async with (
        run_node(settings, catalog),
        grpc.aio.insecure_channel(settings.node.address) as opened,
    ):
        yield opened


async def test_the_example_keeps_rows_and_goes_on_with_its_token(
    channel: grpc.aio.Channel,
) -> None:
    [example] = re.findall(r"^```python\n(.+?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    scope: dict[str, Any] = {}
    exec(compile(example, str(PAGE), "exec"), scope)
    resources = Stub(channel, resource_pb2.DESCRIPTOR.services_by_name["ResourceService"])
    watches = Stub(channel, watch_pb2.DESCRIPTOR.services_by_name["WatchService"])
    rows: dict[bytes, bytes] = {b"what was before": b""}
    tokens = [b""]

    async def follow(*paths: str) -> None:
        """Let the example run until these are the rows."""
        watch = scope["follow"](watches, rows, tokens[-1])
        async for token in watch:
            tokens.append(token)
            if token and sorted(rows) == sorted(map(keys.pack, paths)):
                break
        await watch.aclose()

    async with asyncio.timeout(20):
        await resources.Put(PutResource(path="a", value=b"1"))
        await follow("a")
        await resources.Put(PutResource(path="b", value=b"2"))
        await follow("a", "b")
        await resources.Delete(DeleteResource(path="a"))
        await follow("b")
        assert Resource.FromString(rows[keys.pack("b")]).value == b"2"

        # A token that leads nowhere any more.
        strange = tokens[-1].replace(tokens[-1][2:6], b"????", 1)
        resync = [token async for token in scope["follow"](watches, rows, strange)]
        assert resync == [b""]
        await resources.Put(PutResource(path="c", value=b"3"))
        tokens.append(b"")
        await follow("b", "c")


async def test_a_pair_that_is_new_is_told_from_one_that_was_there(
    channel: grpc.aio.Channel,
) -> None:
    pairs = Stub(channel, kv_pb2.DESCRIPTOR.services_by_name["KvService"])
    family = WatchedFamily(name="kv.pairs", prefix=b"jobs/")
    request = WatchRequest(families=[family], changes_only=True)
    call: Any = Stub(channel, watch_pb2.DESCRIPTOR.services_by_name["WatchService"]).Watch(
        request, timeout=20
    )
    assert (await call.read()).token
    for value in (b"1", b"2"):
        await pairs.Put(PutPair(key=b"jobs/1", value=value, ttl_ms=60_000))
        await pairs.Touch(TouchPair(key=b"jobs/1"))
    await pairs.Put(PutPair(key=b"jobs/2"))

    found: list[WatchEvent] = []
    while len(found) < 3:
        found += (await call.read()).events

    assert [event.kind for event in found] == [WatchEvent.PUT] * 3
    new = [Pair.FromString(event.value).created_revision == event.revision for event in found]
    assert new == [True, False, True]


def test_every_kind_is_told() -> None:
    told = re.findall(r"^\| `([A-Z]+)` \|", TEXT, re.MULTILINE)

    assert told == [name for name in WatchEvent.Kind.keys() if name != "KIND_UNSPECIFIED"]  # noqa: SIM118
