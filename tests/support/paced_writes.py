"""Writes at an even pace, of which none may fail or be lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from quorate.client import AsyncClient
from quorate.v1 import kv_pb2

#: How often it is looked whether writes are due.
TURN_S = 0.02


@asynccontextmanager
async def writing(client: AsyncClient, writes_a_second: int) -> AsyncIterator[list[str]]:
    """Write at an even pace, and give the keys that were acknowledged; one that fails is raised."""
    acknowledged: list[str] = []
    stopping = asyncio.Event()

    async def write(number: int) -> None:
        key = f"rolled/{number}"
        if number % 2:
            await client.kv.put(key, b"x")
        else:
            # Through any node, which sends it on to the leader.
            pair = kv_pb2.PutPair(key=key.encode(), value=b"x")
            await client.call("/quorate.v1.KvService/Put", pair, kv_pb2.PutPairReply)
        acknowledged.append(key)

    async def pace() -> None:
        number, loop = 0, asyncio.get_running_loop()
        begun = loop.time()
        async with asyncio.TaskGroup() as writes:
            while not stopping.is_set():
                await asyncio.sleep(TURN_S)
                while number < (loop.time() - begun) * writes_a_second:
                    writes.create_task(write(number))
                    number += 1

    async with asyncio.TaskGroup() as group:
        group.create_task(pace())
        try:
            yield acknowledged
        finally:
            stopping.set()
