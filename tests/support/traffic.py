"""Writers and watchers that notice whatever a cluster loses, repeats or refuses."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from itertools import count
from typing import Final

from quorate.client import AsyncClient, WatchedChange
from quorate.testing.waiting import PATIENCE_S

WRITES_A_SECOND: Final = 50
WATCHES: Final = 3
KEYS: Final = 60


class Traffic:
    """Writers of their own keys, and watchers of them all."""

    def __init__(self) -> None:
        #: What was answered, in order, by key.
        self.answered: dict[str, list[str]] = {}
        self.seen: list[list[WatchedChange]] = [[] for _ in range(WATCHES)]
        self.failed: list[Exception] = []
        #: The longest that a write took, in seconds.
        self.longest_s = 0.0
        self.over = False

    async def write(self, client: AsyncClient) -> None:
        """Write one key after the other until it is over."""
        for number in count():
            if self.over:
                return
            key, value = f"grown{number % KEYS}/k", str(number)
            began = time.monotonic()
            try:
                await client.kv.put(key, value.encode())
            except Exception as error:  # noqa: BLE001 - it is what the test counts
                self.failed.append(error)
            else:
                self.answered.setdefault(key, []).append(value)
            self.longest_s = max(self.longest_s, time.monotonic() - began)
            await asyncio.sleep(1 / WRITES_A_SECOND)

    async def watch(self, client: AsyncClient, seen: list[WatchedChange]) -> None:
        """Record what a watch sees."""
        async for each in client.watch("kv", prefix=b"grown"):
            seen.append(each)

    def missing(self) -> list[str]:
        """Say what watches missed, or saw twice or in another order."""
        found: list[str] = []
        for number, seen in enumerate(self.seen):
            values: dict[str, list[str]] = {}
            for each in seen:
                values.setdefault(each.key.decode(), []).append(each.value.decode())
            found += [
                f"watch {number} of {key} saw {values.get(key)} of {written}"
                for key, written in self.answered.items()
                if values.get(key) != written
            ]
        return found


@asynccontextmanager
async def traffic(client: AsyncClient) -> AsyncIterator[Traffic]:
    """Write and watch until the block ends; then every watch has seen what was written."""
    made = Traffic()
    watching = [asyncio.create_task(made.watch(client, seen)) for seen in made.seen]
    writing = asyncio.create_task(made.write(client))
    try:
        yield made
        made.over = True
        await writing
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_S):
                while made.missing():
                    await asyncio.sleep(0.05)
        resyncs = [each.reason for seen in made.seen for each in seen if each.reason]
        assert not made.failed, made.failed[0]
        assert not resyncs, resyncs
        assert not (missing := made.missing()), missing[0]
    finally:
        for task in (writing, *watching):
            task.cancel()
        await asyncio.gather(writing, *watching, return_exceptions=True)
