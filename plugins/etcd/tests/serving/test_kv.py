"""What the answers to ranges may hold."""

from __future__ import annotations

from typing import Any

import pytest
from quorate_etcd import errors
from quorate_etcd.store import transacting
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


async def test_what_a_deletion_answers_counts_as_a_range(
    played: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transacting, "_MOST_PAIR_BYTES", 10)
    played = type(played)(played.node, ranges_bytes=1 << 20)
    for key in (b"a", b"b"):
        await played.put(key, bytes(600_000))
    every = rpc.DeleteRangeRequest(key=b"\0", range_end=b"\0", prev_kv=True)
    refused = await played.refused(played.kv, "DeleteRange", every)
    assert refused == errors.TOO_MANY_REQUESTS
    await played.put(b"a", bytes(600_000))
    assert len((await played.kv.DeleteRange(every, None)).prev_kvs) == 1


async def test_a_range_of_large_values_is_read_in_small_parts(played: Any) -> None:
    values = [b"%d" % number * 1_000_000 for number in range(9)] * 2
    for number, value in enumerate(values):
        await played.put(b"%02d" % number, value)
    await played.put(b"small")
    assert [each.value for each in (await played.range()).kvs] == [*values, b""]
    pages = rpc.RangeRequest(key=b"\0", range_end=b"\0")
    read = [each.range_response.kvs async for each in played.kv.RangeStream(pages, None)]
    assert max(map(len, read)) == 2
