"""A node that passes transactions on too slowly holds few of them, and starts over."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import pytest
from quorate.testing.waiting import PATIENCE_S
from quorate_etcd.serving import following
from quorate_etcd.serving.following import Follower, Transaction


async def test_what_waits_is_bounded_by_its_size(
    played: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "_MOST_WAITING_BYTES", 1 << 16)
    passes, held, lost = asyncio.Event(), list[int](), asyncio.Event()

    async def happened(_: Sequence[Transaction]) -> None:
        await passes.wait()

    def lose() -> None:
        lost.set()
        passes.set()

    follower = Follower(played.store, happened, lose)
    task = asyncio.create_task(follower.run())
    try:
        async with asyncio.timeout(PATIENCE_S):
            await follower.reached(0)
            for number in range(40):
                await played.put(b"%d" % number, bytes(4_000))
                await asyncio.sleep(0.001)
                held.append(sum(len(c.value) for each in follower._waiting for c in each.changes))
            await lost.wait()
            assert 1 << 15 < max(held) < (1 << 16) + 5_000
            await follower.reached(41)
            assert follower._bytes == follower._count == 0
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
