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

    def __init__(self, watches: int, writers: int, writes_a_second: float) -> None:
        self._writers = writers
        self._pause_s = writers / writes_a_second
        #: What was answered, in order, by key.
        self.answered: dict[str, list[str]] = {}
        self.seen: list[list[WatchedChange]] = [[] for _ in range(watches)]
        self.failed: list[Exception] = []
        #: The longest that a write took, in seconds.
        self.longest_s = 0.0
        self.over = False

    async def write(self, client: AsyncClient, writer: int) -> None:
        """Write at the rate of one writer; what a slow answer delays is made up for."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        for number in count():
            if self.over:
                return
            key, value = (
                f"grown{writer + self._writers * (number % (KEYS // self._writers))}/k",
                str(number),
            )
            sent = time.monotonic()
            try:
                await client.kv.put(key, value.encode())
            except Exception as error:  # noqa: BLE001 - it is what the test counts
                self.failed.append(error)
            else:
                self.answered.setdefault(key, []).append(value)
            self.longest_s = max(self.longest_s, time.monotonic() - sent)
            await asyncio.sleep(max(0.0, began + (number + 1) * self._pause_s - loop.time()))

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
async def traffic(
    client: AsyncClient,
    watches: int = WATCHES,
    writers: int = 1,
    writes_a_second: float = WRITES_A_SECOND,
) -> AsyncIterator[Traffic]:
    """Write and watch until the block ends; then every watch has seen what was written."""
    made = Traffic(watches, writers, writes_a_second)
    watching = [asyncio.create_task(made.watch(client, seen)) for seen in made.seen]
    writing = [asyncio.create_task(made.write(client, number)) for number in range(writers)]
    try:
        yield made
        made.over = True
        await asyncio.gather(*writing)
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_S):
                while made.missing():
                    await asyncio.sleep(0.05)
        resyncs = [each.reason for seen in made.seen for each in seen if each.reason]
        assert not made.failed, made.failed[0]
        assert not resyncs, resyncs
        assert not (missing := made.missing()), missing[0]
    finally:
        for task in (*writing, *watching):
            task.cancel()
        await asyncio.gather(*writing, *watching, return_exceptions=True)
