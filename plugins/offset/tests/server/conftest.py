"""Shards and nodes on which the tenant `acme` is known, and `leaving` is being deleted."""

from asyncio import run
from collections.abc import Callable

import pytest
from quorate.plugin import keys
from quorate.plugin.catalog import Catalog
from quorate.plugin.resource import TENANTS
from quorate.testing import MemoryNode, MemoryTxn
from quorate.testing.installed import catalog_of
from quorate.v1.tenant_pb2 import CreateTenant, MarkTenant, Tenant

SHARDS = 4


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    """What the plugin declares, and the built-in domains that it reads."""
    return catalog_of(["offset", "resource", "tenant"])


@pytest.fixture
def shard(catalog: Catalog) -> MemoryTxn:
    """The transaction of a first command, at 1,000 ms, on shard 2."""
    tenants = [Tenant(name="acme"), Tenant(name="leaving", deleting_at_ms=7)]
    rows = {keys.pack(each.name): each.SerializeToString() for each in tenants}
    return MemoryTxn(1_000, rows={TENANTS: rows}, plugin="offset", catalog=catalog, shard=2)


@pytest.fixture
def new_node(catalog: Catalog) -> Callable[..., MemoryNode]:
    """Return a function that makes a node with several shards."""

    def made(shards: int = SHARDS, at_ms: int = 1_000) -> MemoryNode:
        node = MemoryNode(catalog=catalog, shards={"offset": shards}, at_ms=at_ms)
        run(node.propose(CreateTenant(name="acme"), Tenant))
        run(node.propose(CreateTenant(name="leaving"), Tenant))
        run(node.propose(MarkTenant(name="leaving", cascades=["offset"]), Tenant))
        return node

    return made


@pytest.fixture
def node(new_node: Callable[..., MemoryNode]) -> MemoryNode:
    """A node with several shards, at 1,000 ms."""
    return new_node()
