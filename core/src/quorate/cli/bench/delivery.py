"""How long a change takes from the call that makes it to the watcher that hears of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from quorate.cli.bench.load import Bounds, Measured, run
from quorate.cli.bench.pairs import BenchPairs
from quorate.cli.failures import failure
from quorate.client import ChangeKind

#: How long a watch may take to open, and events may arrive after the last write.
_PATIENCE_S: Final = 10.0


async def deliver(pairs: BenchPairs, bounds: Bounds, done: Callable[[int], None]) -> Measured:
    """Write pairs while they are watched; each takes until its event is there."""
    loop = asyncio.get_running_loop()
    sent: dict[bytes, float] = {}
    latencies: list[float] = []
    listed, received = asyncio.Event(), asyncio.Event()
    written = False

    async def listen() -> None:
        async for change in pairs.changes():
            if change.kind is ChangeKind.LISTED:
                listed.set()
            if (at := sent.pop(change.key, None)) is not None:
                latencies.append(loop.time() - at)
            if written and not sent:
                received.set()

    async def put(number: int) -> int:
        sent[pairs.key(number)] = loop.time()
        return await pairs.put(number)

    listener = loop.create_task(listen())
    try:
        await _before_the_end_of(listener, listed, "the watch did not open")
        begun = loop.time()
        await run(put, bounds, done)
        written = True
        if sent:
            await _before_the_end_of(listener, received, "not every write was received")
        elapsed_s = loop.time() - begun
    finally:
        listener.cancel()
        await asyncio.gather(listener, return_exceptions=True)
    return Measured(items=len(latencies), elapsed_s=elapsed_s, latencies_s=latencies)


async def _before_the_end_of(listener: asyncio.Task[None], event: asyncio.Event, what: str) -> None:
    """Wait for an event of the listener; raises what ended the listener before."""
    waiting = asyncio.ensure_future(event.wait())
    try:
        await asyncio.wait(
            [listener, waiting], timeout=_PATIENCE_S, return_when=asyncio.FIRST_COMPLETED
        )
        if listener.done():
            listener.result()
        if not waiting.done():
            raise failure(
                f"{what} within {_PATIENCE_S:g} s",
                "see `quorate status` for nodes that lag, or reduce the load",
            )
    finally:
        waiting.cancel()
