import pytest
from quorate.builtin.resource import plugin
from quorate.plugin.catalog import Catalog, build
from quorate.plugin.discovery import Plugin
from quorate.testing import MemoryNode


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    own = Plugin(name="resource", distribution="quorate", version="1", module=plugin)
    return build([own])


@pytest.fixture
def node(catalog: Catalog) -> MemoryNode:
    return MemoryNode(catalog=catalog, at_ms=1_000)
