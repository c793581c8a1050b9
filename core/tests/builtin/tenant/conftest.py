from collections.abc import Callable
from dataclasses import replace

import pytest
from quorate.builtin.tenant import plugin
from quorate.plugin import NodeApi
from quorate.plugin.catalog import build
from quorate.plugin.discovery import Plugin
from quorate.plugin.resource import TenantCascade
from quorate.testing import MemoryNode

OWN = build([Plugin(name="tenant", distribution="quorate", version="1", module=plugin)])


@pytest.fixture
def node_with() -> Callable[[dict[str, set[str]]], MemoryNode]:
    """Return nodes with these cascades, each of which holds something of these tenants."""

    def cascade_over(held: set[str]) -> TenantCascade:
        async def holds(node: NodeApi, name: str) -> bool:
            return name in held

        return TenantCascade(holds=holds)

    def node(cascades: dict[str, set[str]]) -> MemoryNode:
        given = {name: cascade_over(held) for name, held in cascades.items()}
        return MemoryNode(catalog=replace(OWN, extensions={"tenant.cascades": given}), at_ms=1_000)

    return node
