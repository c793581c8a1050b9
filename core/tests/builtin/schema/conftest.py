from asyncio import run

import pytest
from quorate.builtin.schema import plugin
from quorate.builtin.tenant import plugin as tenants
from quorate.plugin.catalog import Catalog, build
from quorate.plugin.discovery import Plugin
from quorate.testing import MemoryNode
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.tenant_pb2 import CreateTenant, CreateTenants

TENANTS = ("acme", "acmes", "bolt")


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    own = Plugin(name="schema", distribution="quorate", version="1", module=plugin)
    other = Plugin(name="tenant", distribution="quorate", version="1", module=tenants)
    return build([own, other])


@pytest.fixture
def node(catalog: Catalog) -> MemoryNode:
    node = MemoryNode(catalog=catalog, at_ms=1_000)
    tenants = CreateTenants(tenants=[CreateTenant(name=each) for each in TENANTS])
    run(node.propose(tenants, BatchReply))
    node.proposals.clear()
    return node
