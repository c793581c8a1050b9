"""How old what a plugin reads may be."""

from __future__ import annotations

from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any, cast

import pytest
from google.protobuf.wrappers_pb2 import BytesValue, StringValue
from quorate.control.runner import FencedNode
from quorate.node.api import PluginNode
from quorate.plugin import NodeApi, Rejected, ShardRef
from quorate.plugin.access import Open
from quorate.plugin.advanced import ShardAnswers
from quorate.plugin.shard_id import ShardId
from quorate.shards.routing.forwarding import AsOf
from quorate.shards.routing.queries import Answers as Found, ReadOptions


def node_of(ages: list[int], asked: list[ReadOptions]) -> NodeApi:
    """Return a node with a shard of each age, and one row."""

    async def read(message: Any, row: Any, options: ReadOptions, **_: object) -> Found[StringValue]:
        asked.append(options)
        as_of = {ShardId("toy", number): AsOf(7, age) for number, age in enumerate(ages)}
        return Found([StringValue(value="row")], as_of)

    none = cast(Any, None)
    groups = cast(Any, SimpleNamespace(reads=SimpleNamespace(read=read)))
    return PluginNode(none, none, groups, (), none, none, none, Open())


@pytest.mark.parametrize(("ages", "age"), [([0, 0], 0), ([5, 40, 7], 40), ([5, -1], -1)])
@pytest.mark.parametrize("fenced", [False, True])
async def test_answers_are_as_old_as_the_oldest_shard(
    ages: list[int], age: int, fenced: bool
) -> None:
    asked: list[ReadOptions] = []
    node = node_of(ages, asked)
    reader = FencedNode(node, ShardRef("toy", 0, 1)).api if fenced else node
    found = await reader.read(BytesValue(), StringValue, consistency="stale", min_revision=3)

    assert (found.rows, found.age_ms) == ([StringValue(value="row")], age)
    assert asked == [ReadOptions(consistency="stale", min_revision=3)]


@pytest.mark.parametrize("fenced", [False, True])
async def test_shards_are_read_one_by_one(fenced: bool) -> None:
    asked: list[Any] = []

    async def read_shards(
        message: Any, row: Any, options: ReadOptions, **how: Any
    ) -> AsyncIterator[ShardAnswers[StringValue]]:
        asked.append((options.consistency, how))
        yield ShardAnswers(shard=3, rows=[StringValue(value="row")])

    none = cast(Any, None)
    groups = cast(Any, SimpleNamespace(reads=SimpleNamespace(read_shards=read_shards)))
    node: NodeApi = PluginNode(none, none, groups, (), none, none, none, Open())
    reader = FencedNode(node, ShardRef("toy", 0, 1)).api if fenced else node
    answers = reader.read_shards(BytesValue(), StringValue, shards=[3], consistency="stale")

    assert [each.shard async for each in answers] == [3]
    assert asked == [("stale", {"shards": [3], "timeout_s": None})]


@pytest.mark.parametrize("fenced", [False, True])
def test_only_the_leader_of_the_term_tells_the_logical_time(fenced: bool) -> None:
    none = cast(Any, None)
    ref = ShardRef("toy", 1, 3)
    led = SimpleNamespace(leads=True, term=3, now_ms=lambda: 77)
    replicas: dict[ShardId, Any] = {ShardId("toy", 1): led}
    node: NodeApi = PluginNode(none, none, none, (), none, none, replicas.get, Open())
    api = FencedNode(node, ref).api if fenced else node

    assert api.logical_ms(ref) == 77
    led.term = 4
    with pytest.raises(Rejected, match="ABORTED: this node does not lead toy/1 in term 3"):
        api.logical_ms(ref)
    led.term, led.leads = 3, False
    with pytest.raises(Rejected, match="ABORTED"):
        api.logical_ms(ref)
    replicas.clear()
    with pytest.raises(Rejected, match="ABORTED"):
        api.logical_ms(ref)
