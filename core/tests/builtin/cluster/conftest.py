from __future__ import annotations

from typing import Any

import pytest
from quorate.builtin.cluster import plugin
from quorate.plugin.catalog import Catalog, build
from quorate.plugin.discovery import Plugin
from quorate.testing import MemoryNode, MemoryTxn


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    return build([Plugin(name="cluster", distribution="quorate", version="0", module=plugin)])


@pytest.fixture
def txn(catalog: Catalog) -> MemoryTxn:
    return MemoryTxn(at_ms=1_000, plugin="cluster", catalog=catalog)


@pytest.fixture
def node(catalog: Catalog) -> MemoryNode:
    return MemoryNode(catalog=catalog, at_ms=1_000)


@pytest.fixture
def service(node: MemoryNode) -> Any:
    return node.servicer("quorate.v1.ClusterService")
