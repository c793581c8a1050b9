from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

import pytest

from tests.support.zookeeper.peers import Door, Peer


@pytest.fixture
async def open_door() -> AsyncIterator[Callable[..., Awaitable[Door]]]:
    """Return what opens a server with settings of the plugin."""
    async with AsyncExitStack() as opened:
        yield lambda **settings: opened.enter_async_context(Door.opened(**settings))


@pytest.fixture
async def door(open_door: Callable[..., Awaitable[Door]]) -> Door:
    """Return a server with the usual settings."""
    return await open_door()


@pytest.fixture
async def peer(door: Door) -> Peer:
    """Return a client with a session."""
    return await door.connect()
