"""Fixtures for a plugin's tests, opt-in: `pytest_plugins = ["quorate.testing.fixtures"]`."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from quorate.client import Client
from quorate.testing.caches import differences
from quorate.testing.cli import Cli
from quorate.testing.cluster import Cluster
from quorate.testing.memory_client import MemoryClient
from quorate.testing.node import MemoryNode


@pytest.fixture
def checked_node() -> Iterator[Callable[[MemoryNode], MemoryNode]]:
    """Check a node at the end of the test: `node = checked_node(MemoryNode(["mqtt"]))`.

    Each cache must equal one that is built from the rows.
    """
    nodes: list[MemoryNode] = []

    def check(node: MemoryNode) -> MemoryNode:
        nodes.append(node)
        return node

    yield check
    found = (differences(node, plugin) for node in nodes for plugin in node.catalog.declared)
    wrong = [difference for differences_of_one in found for difference in differences_of_one]
    assert not wrong, "; ".join(wrong)


@pytest.fixture
def cli() -> Iterator[Callable[[MemoryNode | MemoryClient | Client], Cli]]:
    """Run commands of `quorate`: `cli(MemoryNode(["mqtt"])).run("mqtt", "user", "list")`."""
    with ExitStack() as stack:
        yield lambda asked: stack.enter_context(Cli(asked))


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Callable[..., Cluster]]:
    """Start clusters of real nodes, which end with the test: `cluster(plugins=["mqtt"])`.

    The arguments are those of `Cluster` after its directory; the returned cluster is ready.
    """
    with ExitStack() as stack:
        numbers = count(1)

        def start(*arguments: Any, **options: Any) -> Cluster:
            directory = tmp_path / f"cluster{next(numbers)}"
            return stack.enter_context(Cluster(directory, *arguments, **options)).ready()

        yield start
