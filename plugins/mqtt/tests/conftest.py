from __future__ import annotations

from asyncio import run
from collections.abc import Callable
from typing import Any

import pytest
from quorate.plugin.catalog import Catalog
from quorate.testing import MemoryNode
from quorate.testing.installed import catalog_of
from quorate.v1.tenant_pb2 import CreateTenant, Tenant

TENANTS = ("acme", "globex", "initech", "hooli")


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    return catalog_of(["cluster", "mqtt", "tenant"])


@pytest.fixture
def node(catalog: Catalog) -> MemoryNode:
    """Four shards over which the tenants are spread."""
    node = MemoryNode(catalog=catalog, shards={"mqtt": 4}, at_ms=1_000)
    for tenant in TENANTS:
        run(node.propose(CreateTenant(name=tenant), Tenant))
    return node


@pytest.fixture
def servicer(node: MemoryNode) -> Callable[[str], Any]:
    """Return the servicer of a service by the name that it has in its file."""
    return lambda name: node.servicer(f"quorate_mqtt.v1.{name}")
