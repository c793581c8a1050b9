"""Locks, elections and leases of programs, over a node with its own disk and sockets."""

from __future__ import annotations

import asyncio
from asyncio import run
from collections.abc import Iterator
from contextlib import AsyncExitStack
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from quorate.client import AsyncClient, Client, InvalidError, RejectedError, connect, coordination
from quorate.client.extensions import GROUP, extension
from quorate.testing.cluster import Cluster
from quorate.v1.kv_pb2 import PutPair, PutPairReply
from quorate_coordination.client import (
    EXTENSION,
    Coordination,
    Held,
    LeaseLostError,
    LockLostError,
    NotAcquiredError,
    SyncCoordination,
)

TTL_S = 2.0


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    path: Path = tmp_path_factory.mktemp("coordination")
    with Cluster(path, nodes=1, plugins=["coordination"]) as cluster:
        yield cluster.ready()


def test_the_clients_find_it_by_its_entry_point() -> None:
    [point] = entry_points(group=GROUP, name=coordination.NAME)
    assert point.dist is not None
    assert point.dist.name == "quorate-coordination"
    assert extension(coordination.NAME) is EXTENSION
    with Client("127.0.0.1:1") as q:
        assert isinstance(EXTENSION.asynchronous(q.asynchronous), coordination.Coordination)
        assert isinstance(EXTENSION.synchronous(q), coordination.SyncCoordination)


async def lose(q: AsyncClient, held: Held) -> None:
    """End the lease of a lock, as if its holder had not been heard of."""
    claims = Coordination(q).claims
    [lease] = [claim.lease async for claim in claims.list(lock=held.name) if claim.token]
    await Coordination(q).leases.delete(lease)


def test_a_lock_passes_from_one_holder_to_the_next(cluster: Cluster) -> None:
    async def pass_on() -> None:
        async with connect(cluster.endpoints) as q:
            waiting = asyncio.Event()

            async def next_holder() -> int:
                waiting.set()
                async with q.lock("jobs/nightly", owner="b", ttl_s=TTL_S) as held:
                    await q.kv.put("jobs/last", b"b", fence=held)
                    return held.token

            async with q.lock("jobs/nightly", owner="a", ttl_s=TTL_S) as held:
                task = asyncio.create_task(next_holder())
                await waiting.wait()
                await q.kv.put("jobs/last", b"a", fence=held)
                with pytest.raises(NotAcquiredError, match="jobs/nightly is held by a"):
                    async with q.lock("jobs/nightly", wait_s=0):
                        pass
                with pytest.raises(NotAcquiredError, match=r"for 0\.2 s"):
                    async with q.lock("jobs/nightly", wait_s=0.2):
                        pass
            assert await task > held.token
            with pytest.raises(RejectedError, match="FENCED"):
                await q.fenced(held).kv.delete("jobs/last")
            with pytest.raises(InvalidError, match=r"^fence: .*/Put cannot carry one"):
                await q.fenced(held).call("/quorate.v1.KvService/Put", PutPair(), PutPairReply)
            assert await q.fenced(held).kv.exists("jobs/last")
            late = PutPair(key=b"jobs/last")
            session = await q.fenced(held).sessions.open("metadata", b"jobs", "load")
            with pytest.raises(RejectedError, match="FENCED"):
                await session.execute(late, 1, lowest_unanswered=1)
            assert (found := await q.kv.get("jobs/last")) is not None
            assert found.value == b"b"
            assert [lock async for lock in Coordination(q).locks.list()] == []
            assert [lease async for lease in Coordination(q).leases.list()] == []

    run(pass_on())


def test_work_is_cancelled_when_its_lock_is_lost(cluster: Cluster) -> None:
    async def work() -> None:
        async with connect(cluster.endpoints) as q, q.lock("jobs/hourly", ttl_s=1.0) as held:
            assert await held.run(asyncio.sleep(0, "done")) == "done"
            await lose(q, held)
            await held.run(asyncio.Event().wait())

    with pytest.raises(LockLostError, match="lock jobs/hourly is lost"):
        run(work())


def test_who_waits_learns_that_its_claim_is_gone(cluster: Cluster) -> None:
    async def wait() -> None:
        async with connect(cluster.endpoints) as q, q.lock("jobs/a"):
            waiting = asyncio.create_task(_hold(q, "jobs/a"))
            lease = await _lease_of_waiter(q, "jobs/a")
            await Coordination(q).leases.delete(lease)
            with pytest.raises(LockLostError):
                await waiting

    run(wait())


def test_leases_are_renewed_for_as_long_as_they_are_held(cluster: Cluster) -> None:
    async def keep() -> None:
        async with connect(cluster.endpoints) as q, AsyncExitStack() as held:
            lease = await held.enter_async_context(q.lease("brokers", ttl_s=1.0, owner="b1"))
            await lease.put("brokers/1", b"here")
            lost = asyncio.create_task(lease.wait_lost())
            done, _ = await asyncio.wait([lost], timeout=2.5)
            assert not done
            await lease.put("brokers/1", b"still here")

            await Coordination(q).leases.delete(lease.name)
            await lost
            assert not await q.kv.exists("brokers/1")
            with pytest.raises(RejectedError, match="FENCED"):
                await lease.put("brokers/1", b"late")
            with pytest.raises(LeaseLostError):
                lease.check()

    run(keep())


def test_observers_see_who_leads(cluster: Cluster) -> None:
    async def observe() -> None:
        async with connect(cluster.endpoints) as q:
            election = q.election("controller")
            seen = election.observe()
            assert await anext(seen) is None
            async with election.campaign(value=b"10.0.0.1", owner="a") as first:
                now = await anext(seen)
                assert now is not None
                assert (now.owner, now.value, now.token) == ("a", b"10.0.0.1", first.token)
                assert await election.leader() == now
                await first.proclaim(b"10.0.0.1:7400")
                now = await anext(seen)
                assert now is not None
                assert now.value == b"10.0.0.1:7400"
            assert await anext(seen) is None
            await seen.aclose()

    run(observe())


def test_twins_do_the_same_without_await(cluster: Cluster) -> None:
    with Client(cluster.endpoints) as q:
        coordination = SyncCoordination(q)
        with q.lock("jobs/sync", owner="a") as held:
            held.check()
            q.kv.put("jobs/sync/last", b"a", fence=held)
            assert [lock.owner for lock in coordination.locks.list()] == ["a"]
        with pytest.raises(RejectedError, match="FENCED"):
            q.fenced(held).kv.put("jobs/sync/last", b"a")
        election = q.election("controller")
        with election.campaign(value=b"a") as leading:
            leading.proclaim(b"b")
            leader = election.leader()
            assert leader is not None
            assert leader.value == b"b"
        assert election.leader() is None
        with q.lease("brokers") as lease:
            lease.put("brokers/2", b"")
            assert not lease.lost
        assert not q.kv.exists("brokers/2")


async def _hold(q: AsyncClient, name: str) -> None:
    async with q.lock(name):
        pass


async def _lease_of_waiter(q: AsyncClient, name: str) -> str:
    async for change in Coordination(q).claims.watch(name):
        if change.row is not None and not change.row.token:
            return change.row.lease
    raise AssertionError("the watch ended")
