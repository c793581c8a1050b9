from __future__ import annotations

import inspect
from asyncio import run
from collections.abc import Callable
from types import ModuleType

import pytest
from quorate.plugin.catalog import Catalog
from quorate.testing import MemoryNode
from quorate.testing.fixtures import checked_node

#: The generator below the fixture, so that its end can be seen.
check_nodes = inspect.unwrap(checked_node)


def test_caches_are_checked_when_the_test_is_over(catalog: Catalog, sample: ModuleType) -> None:
    checking = check_nodes()
    check: Callable[[MemoryNode], MemoryNode] = next(checking)
    node = check(MemoryNode(catalog=catalog))
    run(node.propose(sample.pb.WriteNote(owner="ada"), sample.pb.Note))
    with pytest.raises(StopIteration):
        next(checking)


def test_a_cache_that_was_not_kept_up_is_found(catalog: Catalog, sample: ModuleType) -> None:
    checking = check_nodes()
    check: Callable[[MemoryNode], MemoryNode] = next(checking)
    node = check(MemoryNode(catalog=catalog))
    run(node.propose(sample.pb.WriteNote(owner="ada"), sample.pb.Note))
    node.cache(sample.Texts).reset()
    with pytest.raises(AssertionError, match=r"cache sample\.texts holds"):
        next(checking)
