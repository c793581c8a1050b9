"""A fixture for a plugin's tests, opt-in: `pytest_plugins = ["quorate.testing.fixtures"]`."""

from collections.abc import Callable, Iterator

import pytest

from quorate.testing.caches import differences
from quorate.testing.node import MemoryNode


@pytest.fixture
def checked_node() -> Iterator[Callable[[MemoryNode], MemoryNode]]:
    """Have a node checked when the test is over: `node = checked_node(MemoryNode(["mqtt"]))`.

    Whatever the test did, each cache must hold what one holds that is built from the rows.
    """
    nodes: list[MemoryNode] = []

    def check(node: MemoryNode) -> MemoryNode:
        nodes.append(node)
        return node

    yield check
    found = (differences(node, plugin) for node in nodes for plugin in node.catalog.declared)
    wrong = [difference for differences_of_one in found for difference in differences_of_one]
    assert not wrong, "; ".join(wrong)
