from __future__ import annotations

import pytest
from quorate.builtin.kv import plugin
from quorate.builtin.kv.service import KV, KvServicer
from quorate.plugin.catalog import Catalog, build
from quorate.plugin.discovery import Plugin
from quorate.testing import MemoryNode


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    return build([Plugin(name="kv", distribution="quorate", version="0", module=plugin)])


@pytest.fixture
def node(catalog: Catalog) -> MemoryNode:
    return MemoryNode(catalog=catalog, shards={"metadata": 4}, at_ms=1_000)


@pytest.fixture
def service(node: MemoryNode) -> KvServicer:
    servicer = node.servicer(KV.full_name)
    assert isinstance(servicer, KvServicer)
    return servicer
