"""Writes a pair, reads it, and watches it."""

import asyncio
from contextlib import suppress

from quorate.client import connect


async def main() -> None:
    """Write a pair, read it, and print changes until interrupted."""
    async with connect("127.0.0.1:7401,127.0.0.1:7402,127.0.0.1:7403") as q:
        await q.kv.put("greeting", b"hello")
        row = await q.kv.get("greeting")  # row.value, row.revision; None if absent
        print(row)
        async for event in q.watch("kv", prefix="gre"):  # current rows first, then every change
            print(event.kind, event.key, event.value)


with suppress(KeyboardInterrupt):
    asyncio.run(main())
