from __future__ import annotations

import asyncio
import time

from quorate.testing.replica_process.loop_stops import LoopStops


async def test_the_longest_stop_is_remembered() -> None:
    loop = asyncio.get_running_loop()
    stops = LoopStops(loop).start()
    begun, woken = time.perf_counter(), loop.create_future()
    # It stands on purpose: this is what is measured.
    loop.call_soon(_stand, 0.05)
    loop.call_later(0.06, woken.set_result, None)
    await woken
    stops.stop()
    assert 0.045 <= stops.longest_s <= time.perf_counter() - begun
    measured = stops.longest_s
    _stand(0.1)
    await asyncio.sleep(0)
    assert stops.longest_s == measured


def _stand(seconds: float) -> None:
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass
