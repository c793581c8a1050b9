from collections.abc import AsyncIterator

import pytest

from tests.support.zookeeper.peers import Door


@pytest.fixture
async def door() -> AsyncIterator[Door]:
    """Return a server on a node in memory."""
    async with Door.opened(max_session_timeout_ms=40_000) as door:
        yield door
