from __future__ import annotations

from asyncio import run

import pytest
from quorate.plugin.catalog import Catalog
from quorate.testing import MemoryNode
from quorate.testing.installed import catalog_of
from quorate.v1.tenant_pb2 import CreateTenant, Tenant


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    return catalog_of(["cluster", "connector", "tenant"])


@pytest.fixture
def node(catalog: Catalog) -> MemoryNode:
    """A node whose tenants are acme and globex; the shards of the group are more than one."""
    node = MemoryNode(catalog=catalog, shards={"mqtt": 3}, at_ms=1_000)
    for tenant in ("acme", "globex"):
        run(node.propose(CreateTenant(name=tenant), Tenant))
    return node
