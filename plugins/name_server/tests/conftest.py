import pytest
from quorate_name_server.routes.known import KnownRoutes

from plugins.name_server.tests.memory import Names, Node


@pytest.fixture
def node() -> Node:
    """Give a node in memory whose clock is its logical time."""
    node = Node(["name_server"], at_ms=1_000_000)
    node.cache(KnownRoutes).clock = lambda: node.now_ms / 1_000
    return node


@pytest.fixture
def names(node: Node) -> Names:
    return Names(node)
