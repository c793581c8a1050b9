"""What the answers to ranges may hold."""

from __future__ import annotations

from typing import Any

from quorate_etcd import errors
from quorate_etcd.wire import rpc_pb2 as rpc


async def test_all_ranges_together_hold_so_much(played: Any) -> None:
    played = type(played)(played.node, ranges_bytes=1 << 20)
    for key in (b"a", b"b"):
        await played.put(key, bytes(600_000))
    every = rpc.RangeRequest(key=b"\0", range_end=b"\0")
    for _ in range(2):
        assert await played.refused(played.kv, "Range", every) == errors.TOO_MANY_REQUESTS
        # It was given back, also what was refused.
        assert (await played.range(limit=1)).more
        assert (await played.range(limit=1)).more
