"""Waits until a registration that is quite new has come to every shard."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from quorate.client import RejectedError

from quorate_mqtt.brokers import UNKNOWN

R = TypeVar("R")

#: A registration that is not known after this time is none.
_PATIENCE_S: Final = 5.0
_FIRST_PAUSE_S: Final = 0.01
_LONGEST_PAUSE_S: Final = 0.2


async def settled(attempt: Callable[[], Awaitable[R]]) -> R:
    """Return what an attempt gives, made again while its shard does not know the broker yet."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + _PATIENCE_S
    pause_s = _FIRST_PAUSE_S
    while True:
        try:
            return await attempt()
        except RejectedError as error:
            if error.code != UNKNOWN or loop.time() + pause_s > deadline:
                raise
        await asyncio.sleep(pause_s)
        pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
