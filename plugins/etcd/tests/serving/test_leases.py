from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from quorate.testing import MemoryNode
from quorate_etcd.v1 import commands_pb2 as pb
from quorate_etcd.wire import rpc_pb2 as rpc


async def requests(*leases: int) -> AsyncIterator[rpc.LeaseKeepAliveRequest]:
    for lease in leases:
        yield rpc.LeaseKeepAliveRequest(ID=lease)


async def renewed(played: Any, *leases: int) -> list[tuple[int, int]]:
    answers = played.lease.LeaseKeepAlive(requests(*leases), None)
    return [(each.ID, each.TTL) async for each in answers]


async def test_each_request_is_answered_in_its_order(played: Any) -> None:
    await played.grant(1, 60)
    await played.grant(2, 70)
    assert await renewed(played, 2, 1, 9, 2) == [(2, 70), (1, 60), (9, 0), (2, 70)]


async def test_renewals_of_a_node_are_one_command(played: Any, node: MemoryNode) -> None:
    leases = range(1, 51)
    for lease in leases:
        await played.grant(lease)
    await asyncio.gather(*(renewed(played, lease, lease) for lease in leases))
    commands = [each for each in node.proposals if isinstance(each, pb.RenewLeases)]
    assert sum(len(each.ids) for each in commands) < 200
    assert len(commands) < 10


async def test_a_renewed_lease_goes_on(played: Any, node: MemoryNode) -> None:
    await played.grant(1, 10)
    await played.put(b"a", b"", 1)
    for _ in range(4):
        await node.advance(8_000)
        assert await renewed(played, 1) == [(1, 10)]
    assert (await played.range()).count == 1
    await node.advance(10_001)
    assert await renewed(played, 1) == [(1, 0)]


async def test_a_renewal_that_fails_fails_those_that_wait_for_it(
    played: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: Any) -> None:
        raise ConnectionError("gone")

    monkeypatch.setattr(played.store, "propose", fail)
    with pytest.raises(ConnectionError):
        await renewed(played, 1)
    monkeypatch.undo()
    assert await renewed(played, 1) == [(1, 0)]
