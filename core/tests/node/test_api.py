from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from google.protobuf.wrappers_pb2 import StringValue
from pydantic import BaseModel
from quorate.client import AsyncClient, RejectedError
from quorate.config import load
from quorate.node.api import PluginNode
from quorate.plugin import Access, Caller, NodeApi, Rejected, RowEvent
from quorate.plugin.access import Open, Rights
from quorate.plugin.advanced import Grant, UndeclaredFamilyError
from quorate.plugin.node import NODE
from quorate.rpc import callers
from quorate.shards.refusals import NotProposedError, OutcomeUnknownError
from quorate.shards.routing.forwarding import Asked

if TYPE_CHECKING:
    from core.tests.node.conftest import Nodes

ROWS = "toy.rows"


async def test_a_refusal_of_the_handler_comes_through(nodes: Nodes) -> None:
    async with nodes.started(*nodes.files(1)) as [node]:
        with pytest.raises(Rejected, match="a row needs a key"):
            await nodes.say(node.api, "#=1")


async def test_ordered_commands_keep_their_order(nodes: Nodes) -> None:
    """The one that is refused fails alone, and after the stream is closed nothing is answered."""
    async with nodes.started(*nodes.files(1)) as [node]:
        ordered = node.api.ordered()
        said = [f"a={number}" for number in range(20)] + ["#=1", "a=last"]
        answers = [ordered.propose(StringValue(value=each), StringValue) for each in said]
        *replies, refused, last = await asyncio.gather(*answers, return_exceptions=True)
        assert [each.value for each in replies if isinstance(each, StringValue)] == [
            f"a is {number}" for number in range(20)
        ]
        assert isinstance(refused, Rejected)
        assert last == StringValue(value="a is last")
        await ordered.close()


async def test_after_a_failure_nothing_more_of_a_stream_is_proposed(nodes: Nodes) -> None:
    """Without a majority nobody knows what becomes of the first; the second must not overtake."""
    paths = nodes.files(3)
    async with nodes.started(*paths) as started:
        ordered = started[0].api.ordered()
        await ordered.propose(StringValue(value="a=1"), StringValue)
        for node in started[1:]:
            await node.stop()
        first = ordered.propose(StringValue(value="a=2"), StringValue)
        with pytest.raises((NotProposedError, OutcomeUnknownError)):
            await first
        with pytest.raises(NotProposedError, match="an earlier command of its stream failed"):
            await ordered.propose(StringValue(value="a=3"), StringValue)
        await ordered.close()


async def test_a_watch_begins_with_the_rows_and_goes_on_behind_them(nodes: Nodes) -> None:
    async with nodes.started(*nodes.files(1)) as [node]:
        for each in ("a=1", "b=2"):
            await nodes.say(node.api, each)
        seen: list[bytes] = []
        watch = node.api.watch(ROWS, prefix=b"a")
        async with asyncio.timeout(10):
            async for event in watch:
                if isinstance(event.event, RowEvent):
                    seen.append(event.event.key)
                else:
                    await nodes.say(node.api, "a2=3")
                if len(seen) == 2:
                    break
        await watch.aclose()  # type: ignore[attr-defined]
        assert seen == [b"a", b"a2"]

        with pytest.raises(UndeclaredFamilyError):
            await anext(node.api.watch("toy.strangers"))


async def test_a_cache_holds_every_row(nodes: Nodes) -> None:
    [path] = nodes.files(1)
    async with nodes.started(path) as [node]:
        await nodes.say(node.api, "a=1")
        view = node.api.cache(nodes.cache)
        async with asyncio.timeout(10):
            while b"a" not in view.rows:
                await asyncio.sleep(0.01)
        assert view.rows == {b"a": StringValue(value="1").SerializeToString()}
        assert 0 <= node.api.cache_age_ms(nodes.cache) < 10_000
        with pytest.raises(LookupError, match="declares a Cache"):
            node.api.cache(Stranger)


class Stranger:
    def reset(self) -> None: ...
    def put(self, family: str, key: bytes, row: bytes) -> None: ...
    def delete(self, family: str, key: bytes) -> None: ...


async def test_sections_and_extensions_are_found_by_their_type(nodes: Nodes) -> None:
    async with nodes.started(*nodes.files(1, more="[plugins.toy]\nmost = 7")) as [node]:
        assert node.api.config(nodes.section).most == 7
        with pytest.raises(LookupError):
            node.api.config(BaseModel)
        assert node.api.extensions("toy.colours", str) == {"red": "#f00"}
        assert node.api.extensions("toy.colours", int) == {}
        assert node.api.extensions("toy.strangers", str) == {}


async def test_what_is_counted_is_kept_for_prometheus(nodes: Nodes) -> None:
    async with nodes.started(*nodes.files(1)) as [node]:
        node.api.count("quorate_toy_puts_total", how="fast")
        node.api.count("quorate_toy_puts_total", 2, how="fast")
        node.api.observe("quorate_toy_size_rows", 5)

        assert node.metrics.get_sample_value("quorate_toy_puts_total", {"how": "fast"}) == 3
        assert node.metrics.get_sample_value("quorate_toy_size_rows") == 5


@pytest.mark.parametrize("exactly_once", [False, True])
async def test_a_clients_command_is_admitted_by_the_node_that_takes_it(
    nodes: Nodes, exactly_once: bool
) -> None:
    seen: list[tuple[str, Caller]] = []

    async def admit(node: NodeApi, caller: Caller, command: StringValue) -> StringValue | None:
        seen.append((command.value, caller))
        if command.value.endswith("?"):
            raise Rejected("ASKED", str(node.config(nodes.section).most))
        return None if "=" in command.value else StringValue(value=f"{command.value}=default")

    catalog = nodes.catalog()
    [command] = [each for each in catalog.commands.values() if each.message is StringValue]
    command = replace(command, admit=admit)
    name = StringValue.DESCRIPTOR.full_name
    catalog = replace(catalog, commands={**catalog.commands, name: command})
    [path] = nodes.files(1)
    async with (
        nodes.started(path, serving=catalog),
        AsyncClient(
            load(path, {"toy": nodes.section}, {}).node.address,
            vocabulary={StringValue: command},
            exactly_once=exactly_once,
        ) as client,
    ):
        answers = await asyncio.gather(
            *(client.execute(StringValue(value=each), StringValue) for each in ("a", "b=2"))
        )
        with pytest.raises(RejectedError, match="ASKED: 3"):
            await client.execute(StringValue(value="c?"), StringValue)

    assert [each.value for each in answers] == ["a is default", "b is 2"]
    assert sorted(seen, key=str) == [
        (each, Caller(address="127.0.0.1")) for each in ("a", "b=2", "c?")
    ]


async def test_controllers_act_for_the_node_in_whatever_context(nodes: Nodes) -> None:
    async with nodes.started(*nodes.files(1)) as [node]:
        callers.begin(Caller(name="ada"))
        callers.ask(Asked("ada", "/a.B/C", None))
        itself = node.api.itself()

        assert (itself.caller(), itself._asked()) == (NODE, None)
        assert (node.api.caller().name, node.api._asked()) == ("ada", callers.asked())
        anyones: Any = None
        assert node.leader_tasks.runner._node(anyones).caller() == NODE


class Knows(Open):
    """Knows ada, who has these grants."""

    enabled: bool | None = True

    def __init__(self, *grants: Grant) -> None:
        self._grants = grants

    def rights(self, name: str) -> Rights:
        return Rights(name, self._grants if name == "ada" else ())


@pytest.mark.parametrize(
    ("grant", "allowed"),
    [
        (Grant(right="write", domain="kv"), True),
        (Grant(right="admin", domain="kv"), True),
        (Grant(right="read", domain="kv"), False),
        (Grant(right="write", domain="kv", prefix="a"), False),
        (Grant(right="write", domain="kv", tenant="acme"), False),
        (Grant(right="write", domain="mqtt"), False),
    ],
)
def test_a_port_of_a_plugin_asks_for_all_of_its_domain(grant: Grant, allowed: bool) -> None:
    none: Any = None
    node = PluginNode(none, none, none, (), none, none, none, Knows(grant))

    assert node.allows("ada", Access(right="write", domain="kv")) is allowed
    assert not node.allows("eve", Access(right="write", domain="kv"))


async def test_a_plugin_learns_of_the_cluster_and_its_shards(nodes: Nodes) -> None:
    async with nodes.started(*nodes.files(3)) as started:
        await nodes.say(started[0].api, "a=1")
        apis: list[NodeApi] = [each.api for each in started]
        known = apis[0].cluster()
        assert known.node == started[0].me.node
        assert len(known.cluster) > 4
        assert {each.cluster().cluster for each in apis} == {known.cluster}
        assert set(known.addresses) == {each.me.node for each in started}
        [group] = {
            family.group for family in nodes.catalog().families.values() if family.name == ROWS
        }
        async with asyncio.timeout(30):
            while len({each.shard(group).leader for each in apis}) > 1 or min(
                each.shard(group).applied for each in apis
            ) < max(each.shard(group).committed for each in apis):
                await asyncio.sleep(0.01)
        assert all(each.shard_bytes(group) for each in apis)

        def by_leader() -> list[NodeApi]:
            leader = apis[0].shard(group).leader
            return sorted(apis, key=lambda each: each.cluster().node != leader)

        leader, *others = by_leader()
        with pytest.raises(Rejected, match="not led by this node") as raised:
            await others[0].transfer_leader(others[1].cluster().node, group)
        assert raised.value.code == "NOT_LEADER"
        with pytest.raises(Rejected, match="stranger") as raised:
            await leader.transfer_leader("stranger", group)
        assert raised.value.code == "FAILED_PRECONDITION"
        async with asyncio.timeout(60):
            while True:
                leader, *others = by_leader()
                heir, term = others[0].cluster().node, leader.shard(group).term
                # On a busy machine another node may be elected meanwhile.
                with suppress(Rejected):
                    await leader.transfer_leader(heir, group)
                    break
                await asyncio.sleep(0.1)
        assert leader.shard(group).leader == heir
        assert leader.shard(group).term > term
