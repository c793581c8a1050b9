from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

import pytest

from tests.support.rocketmq.peers import Doors, Peer


@pytest.fixture
async def open_door() -> AsyncIterator[Callable[..., Awaitable[Doors]]]:
    """Return what opens a door with settings of the plugin."""
    async with AsyncExitStack() as opened:
        yield lambda **settings: opened.enter_async_context(Doors.opened(**settings))


@pytest.fixture
async def door(open_door: Callable[..., Awaitable[Doors]]) -> Doors:
    """Return a door with the usual settings."""
    return await open_door()


@pytest.fixture
async def peer(door: Doors) -> Peer:
    """Return a connection to it."""
    return await door.connect()
