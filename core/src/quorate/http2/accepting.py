"""The end of listening, which leaves no accepted connection without an owner."""

import asyncio
from collections.abc import Iterable
from typing import Final

#: Turns of the loop until an accepted connection is established.
_ACCEPTING_TURNS: Final = 3


async def stop_accepting(servers: Iterable[asyncio.Server]) -> None:
    """Close servers once the connections that they have accepted are established.

    asyncio leaves a connection open that it accepts while its server is closed.
    """
    for server in servers:
        for each in server.sockets:
            server.get_loop().remove_reader(each.fileno())
    for _ in range(_ACCEPTING_TURNS):
        await asyncio.sleep(0)
    for server in servers:
        server.close()
