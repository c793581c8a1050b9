"""A copy between two stores of one node: what it does with leases and with large revisions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from quorate.testing import MemoryNode
from quorate.testing.ports import free_ports
from quorate.testing.waiting import PATIENCE_S
from quorate_etcd.cli import leases
from quorate_etcd.cli.copying import Copied, Copy
from quorate_etcd.cli.peer import Peer, PeerError
from quorate_etcd.wire import rpc_pb2 as rpc


class Sides:
    """A source that is played, and a target with a port."""

    def __init__(self, source: Any, target: Any, reads: Peer, writes: Peer) -> None:
        self.source, self.target = source, target
        self._reads, self._writes = reads, writes

    def copy(self, *, deletes: bool = True) -> Copy:
        return Copy(self._reads, self._writes, deletes=deletes, told=lambda _: None)

    async def equal(self) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while await shown(self.source) != await shown(self.target):
                await asyncio.sleep(0.01)


async def shown(played: Any) -> dict[bytes, tuple[bytes, int]]:
    return {key: (pair.value, pair.lease) for key, pair in (await played.pairs()).items()}


@pytest.fixture
async def sides(played: Any, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Sides]:
    monkeypatch.setattr(leases, "_LONGEST_PAUSE_S", 0.05)
    first, second = free_ports(0, 1)
    section = {"port": first, "stores": {"other": second}}
    async with (
        MemoryNode(["etcd"], config={"etcd": section}, at_ms=1_000_000) as node,
        Peer(f"127.0.0.1:{first}") as reads,
        Peer(f"127.0.0.1:{second}") as writes,
    ):
        yield Sides(type(played)(node), type(played)(node, "other"), reads, writes)


@asynccontextmanager
async def running(copy: Copy) -> AsyncIterator[Copied]:
    task = asyncio.create_task(copy.run(until_equal=False))
    yield copy.done
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def many(played: Any, keys: range, value: bytes = b"") -> Any:
    puts = [rpc.RequestOp(request_put=rpc.PutRequest(key=b"%d" % n, value=value)) for n in keys]
    return played.kv.Txn(rpc.TxnRequest(success=puts), None)


async def test_it_ends_as_soon_as_both_are_equal(sides: Sides) -> None:
    for at in range(0, 500, 100):
        await many(sides.source, range(at, at + 100), b"%d" % at)
    await sides.target.put(b"7", b"other")
    await sides.target.put(b"extra")
    copy = sides.copy()
    await copy.run(until_equal=True)
    assert (copy.done.copied, copy.done.deleted, copy.done.lag) == (500, 1, 0)
    assert await copy.differing() == 0
    await sides.equal()
    again = sides.copy()
    await again.run(until_equal=True)
    assert (again.done.copied, again.done.deleted) == (0, 0)


async def test_what_the_source_lacks_stays_unless_asked(sides: Sides) -> None:
    await sides.target.put(b"extra")
    copy = sides.copy(deletes=False)
    await copy.run(until_equal=True)
    assert (copy.done.extra, copy.done.deleted) == (1, 0)
    assert (await sides.target.range()).count == 1


async def test_revisions_of_any_size_are_followed(sides: Sides) -> None:
    async with running(sides.copy()) as done:
        await sides.source.put(b"a", b"1")
        await many(sides.source, range(120), b"x" * 9_000)
        for number in range(30):
            await sides.source.put(b"a", b"%d" % number)
            await sides.source.put(b"large", bytes(1_200_000))
        await sides.source.delete(b"1", b"2")
        await sides.equal()
        assert done.followed > 0


async def test_leases_live_as_long_as_at_the_source(sides: Sides) -> None:
    await sides.source.grant(7, 60)
    await sides.source.put(b"a", b"", 7)
    async with running(sides.copy()):
        await sides.equal()
        await sides.source.grant(8, 60)
        await sides.source.put(b"b", b"", 8)
        await sides.equal()
        await sides.source.lease.LeaseRevoke(rpc.LeaseRevokeRequest(ID=7), None)
        await sides.equal()
        async with asyncio.timeout(PATIENCE_S):
            look = rpc.LeaseLeasesRequest()
            while len((await sides.target.lease.LeaseLeases(look, None)).leases) != 1:
                await asyncio.sleep(0.01)


async def test_a_lease_that_ended_at_the_target_alone_comes_back(sides: Sides) -> None:
    await sides.source.grant(7, 60)
    await sides.source.put(b"a", b"1", 7)
    async with running(sides.copy()):
        await sides.equal()
        await sides.target.lease.LeaseRevoke(rpc.LeaseRevokeRequest(ID=7), None)
        await sides.equal()


async def test_a_source_that_has_compacted_what_is_missing_says_so(sides: Sides) -> None:
    copy = sides.copy()
    copy.done.revision = 1
    for _ in range(5):
        await sides.source.put(b"a")
    await sides.source.compact(5)
    with pytest.raises(ExceptionGroup) as raised:
        await copy._follow(until_equal=False)
    assert raised.group_contains(PeerError, match="compacted")
