"""A directory of another cluster in the place of a node's."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from quorate.node.directory import OtherClusterError
from quorate.node.neighbours import Neighbours
from quorate.plugin.shard_id import METADATA

if TYPE_CHECKING:
    from core.tests.node.conftest import Nodes


def test_one_stranger_among_nodes_of_this_cluster_is_an_alarm() -> None:
    neighbours = Neighbours(["n2", "n3"])
    assert neighbours.misplaced is None
    neighbours.met("n3", ours=True)
    neighbours.met("n2", ours=False)
    assert neighbours.misplaced is None
    [alarm] = neighbours.alarms()
    assert alarm.startswith("n2 answers at its address with a directory of another cluster")
    neighbours.met("n2", ours=True)
    assert not list(neighbours.alarms())


def test_where_there_are_strangers_alone_the_directory_is_misplaced() -> None:
    neighbours = Neighbours(["n2", "n3"])
    # Whoever names this node in a file of its own says nothing about it.
    neighbours.met("n9", ours=False)
    assert neighbours.misplaced is None
    neighbours.met("n2", ours=False)
    assert "another cluster than n2" in str(neighbours.misplaced)
    neighbours.met("n3", ours=True)
    assert neighbours.misplaced is None


async def elsewhere(nodes: Nodes, path: Path) -> None:
    """Put the directory of a cluster of its own in the place of a node's."""
    text = path.read_text()
    own = [line for line in text.splitlines() if "127.0.0.1" not in line or path.stem in line]
    path.write_text("\n".join(own))
    shutil.rmtree(path.with_suffix(""), ignore_errors=True)
    async with nodes.started(path):
        pass
    path.write_text(text)


@pytest.mark.ci
async def test_a_directory_of_another_cluster_serves_nobody_while_the_others_say_so(
    nodes: Nodes,
) -> None:
    one, *others = nodes.files(3)
    async with nodes.started(one, *others) as [first, *_]:
        await nodes.say(first.api, "a=1")
        await nodes.end(first)
        await elsewhere(nodes, one)
        misplaced = nodes.new(one)
        starting = asyncio.create_task(misplaced.start())
        try:
            async with asyncio.timeout(20):
                while "another cluster than n2" not in str(misplaced._lifecycle.missing()):
                    await asyncio.sleep(0.01)
            assert misplaced.shards.get(METADATA) is None
            assert not starting.done()
        finally:
            starting.cancel()
            await asyncio.gather(starting, return_exceptions=True)
            await nodes.end(misplaced)


@pytest.mark.ci
async def test_a_directory_of_another_cluster_ends_its_node_when_the_others_come_up(
    nodes: Nodes,
) -> None:
    one, *others = nodes.files(3)
    async with nodes.started(one, *others) as [first, *rest]:
        await nodes.say(first.api, "a=1")
        for node in (first, *rest):
            await nodes.end(node)
    await elsewhere(nodes, one)
    async with nodes.running(one) as misplaced, nodes.started(*others):
        async with asyncio.timeout(20):
            with pytest.raises(OtherClusterError, match="which \\[cluster\\] names here"):
                await misplaced.ended()
