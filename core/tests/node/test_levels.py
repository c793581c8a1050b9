"""Nodes of two releases side by side, on the way up, back down, and up for good."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from quorate.apply import levels
from quorate.node.node import Node
from quorate.plugin import Rejected
from quorate.testing.waiting import PATIENCE_S
from quorate.topology.replicas.declaration import ReleaseTooOldError
from quorate.v1.admin_pb2 import FinishUpgradeRequest, LevelsRequest

from core.tests.node.conftest import Nodes

Start = Callable[[Path, int], Awaitable[Node]]


@asynccontextmanager
async def releases(nodes: Nodes, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Start]:
    """Give what starts a node with a release of some level; all are stopped in the end."""
    began: list[Node] = []

    async def start(path: Path, level: int) -> Node:
        monkeypatch.setattr(levels, "CORE_LEVEL", level)
        node = nodes.new(path)
        began.append(node)
        await node.start()
        return node

    try:
        async with asyncio.timeout(4 * PATIENCE_S):
            yield start
    finally:
        await asyncio.gather(*map(nodes.end, began))


async def lacking(node: Node) -> dict[str, list[str]]:
    """Return the nodes that keep features from rising, as a node knows it."""
    answer = await node.operations.admin.Levels(LevelsRequest(), None)
    return {each.name: list(each.lacking) for each in answer.features if each.next > each.level}


async def answering(node: Node) -> set[str]:
    """Return the nodes that answer now, as a node finds out when it is asked."""
    answer = await node.operations.admin.Levels(LevelsRequest(), None)
    return {each.node for each in answer.nodes if each.answers}


async def until_lacking(node: Node, wanted: dict[str, list[str]]) -> None:
    while await lacking(node) != wanted:
        await asyncio.sleep(0.02)


async def finish(node: Node) -> dict[str, int]:
    answer = await node.operations.admin.FinishUpgrade(FinishUpgradeRequest(), None)
    return {each.feature: each.level for each in answer.raised}


@pytest.mark.ci
async def test_an_upgrade_can_be_taken_back_until_it_is_finished(
    nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = nodes.files(3)
    async with releases(nodes, monkeypatch) as start:
        running = list(await asyncio.gather(*(start(path, 1) for path in files)))
        await asyncio.gather(*(node.ready() for node in running))
        assert await nodes.say(running[0].api, "a=1") == "a is 1"

        async def restart(place: int, level: int) -> None:
            await nodes.end(running[place])
            running[place] = await start(files[place], level)
            await running[place].ready()

        await restart(0, 2)
        await until_lacking(running[1], {"core": ["n2", "n3"]})
        with pytest.raises(Rejected, match=r"level 2 of core is missing on n2 .* n3 "):
            await finish(running[1])
        assert await nodes.say(running[0].api, "b=2") == "b is 2"
        # Back down.
        await restart(0, 1)
        await until_lacking(running[1], {})
        assert await finish(running[1]) == {}

        for place in range(3):
            await restart(place, 2)
        await until_lacking(running[0], {"core": []})
        assert {node.api.level("core") for node in running} == {1}
        # The last one is down when the level rises, and counts as what it was.
        await nodes.end(running[2])
        assert await answering(running[0]) == {"n1", "n2"}
        assert await finish(running[0]) == {"core": 2}
        while {node.api.level("core") for node in running[:2]} != {2}:
            await asyncio.sleep(0.02)
        assert await nodes.say(running[1].api, "c=3") == "c is 3"

        # It does not know yet that there is no way back, and learns it from the others.
        late = await start(files[2], 1)
        with pytest.raises(ReleaseTooOldError, match="level 2 of core is in force"):
            await late.ended()
        await nodes.end(late)
        running[2] = await start(files[2], 2)
        await running[2].ready()
        # Until then the others refused it, and look again in a while.
        while await answering(running[0]) != {"n1", "n2", "n3"}:
            await asyncio.sleep(0.02)
        assert sorted(await nodes.values(running[2].api)) == ["1", "2", "3"]


async def test_an_older_release_does_not_start_once_a_level_is_in_force(
    nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    [path] = nodes.files(1)
    async with releases(nodes, monkeypatch) as start:
        node = await start(path, 2)
        await node.ready()
        # A new cluster begins at the highest.
        assert node.api.level("core") == 2
        await nodes.end(node)
        with pytest.raises(ReleaseTooOldError, match="install the release that the other nodes"):
            await start(path, 1)
