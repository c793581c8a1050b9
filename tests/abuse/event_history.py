"""A few rows that are written again and again once filled every node's disk with their events."""

from __future__ import annotations

import asyncio
from typing import Final

from quorate.client import connect
from quorate.v1.watch_pb2 import WatchedFamily, WatchRequest, WatchResponse

from tests.abuse.attack import Attack, Broken, Target

BOUND: Final = 4 << 20
ROWS: Final = 20
ROW_BYTES: Final = 50_000
#: How often each row is written: 60 MB of events in all.
TIMES: Final = 60
PATIENCE_S: Final = 15
_METRIC: Final = "quorate_shard_history_bytes"


async def run(target: Target) -> str:
    """Write the rows, look at what is kept, and resume a watch from before."""
    async with connect(target.endpoints, tls=target.tls) as client, target.channel() as channel:
        watch = channel.unary_stream(
            "/quorate.v1.WatchService/Watch",
            WatchRequest.SerializeToString,
            WatchResponse.FromString,
        )
        families = [WatchedFamily(name="kv.pairs")]
        token = b""
        async for response in watch(WatchRequest(families=families), timeout=60):
            if response.token:
                token = response.token
                break
        written = 0
        for turn in range(TIMES):
            value = bytes([turn]) * ROW_BYTES
            await asyncio.gather(*(client.kv.put(f"abuse/{row}", value) for row in range(ROWS)))
            written += ROWS * ROW_BYTES
        kept = 0.0
        try:
            async with asyncio.timeout(PATIENCE_S):
                while not 0 < (kept := await target.metric(_METRIC)) <= BOUND * 5 // 4:
                    await asyncio.sleep(0.5)
        except TimeoutError:
            raise Broken(
                f"{written} bytes were written to {ROWS} rows, and the shards keep {kept:.0f} "
                f"bytes of events, with a bound of {BOUND}"
            ) from None
        async for response in watch(WatchRequest(families=families, token=token), timeout=60):
            if response.HasField("resync"):
                break
            if response.events:
                raise Broken("a watch went on after events that are gone, and was not told so")
    return f"{kept:.0f} bytes of events are kept of {written}; an old watch is told to list again"


ATTACK: Final = Attack(run=run, nodes=1, settings={"storage": {"history_bytes": BOUND}})
