"""Claims on locks: who holds, who waits, and with which token."""

from __future__ import annotations

from asyncio import run
from collections.abc import Awaitable
from typing import Any, Final

import pytest
from quorate.client import InvalidError, RejectedError
from quorate.plugin import Fence
from quorate.plugin.advanced import FenceNames
from quorate.plugin.fences import prefix_of
from quorate.testing import MemoryClient, MemoryNode
from quorate.testing.shard import Entry, command_of
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.control_pb2 import RaiseGeneration
from quorate.v1.kv_pb2 import PutPair, PutPairReply
from quorate_coordination.families import lock_fence, row_fence
from quorate_coordination.fences import NAMES
from quorate_coordination.leases import LEASE
from quorate_coordination.locks import ANY_NUMBER, CLAIM, LOCK
from quorate_coordination.v1 import leases_pb2, locks_pb2 as pb

TTL_MS: Final = 10_000
LAST_TOKEN: Final = (1 << 64) - 1


async def awaited(answer: Awaitable[bool]) -> bool:
    return await answer


class Locks:
    """Claims of workers, each with a lease of its own."""

    def __init__(self) -> None:
        self.node: Final = MemoryNode(["coordination", "kv"], shards={"metadata": 3}, at_ms=1_000)
        self.q: Final = MemoryClient(self.node)

    def acquire(self, worker: str, lock: str = "jobs/nightly", **fields: Any) -> pb.Claim:
        wanted = pb.Acquisition(
            lock=lock, lease=f"jobs/{worker}", id="1", owner=worker, lease_ttl_ms=TTL_MS, **fields
        )
        return self._do("Acquire", wanted)

    def release(self, worker: str, lock: str = "jobs/nightly") -> pb.Claim:
        return self._do("Release", pb.ClaimName(lock=lock, lease=f"jobs/{worker}", id="1"))

    def proclaim(self, worker: str, value: bytes) -> pb.Claim:
        return self._do(
            "Proclaim",
            pb.Proclamation(lock="jobs/nightly", lease=f"jobs/{worker}", id="1", value=value),
        )

    def renew(self, worker: str) -> None:
        run(self.q.records(LEASE).do("Renew", leases_pb2.LeaseRenewal(name=f"jobs/{worker}")))

    def end(self, worker: str) -> None:
        run(self.q.records(LEASE).delete(f"jobs/{worker}"))

    def advance(self, ms: int) -> None:
        run(self.node.advance(ms))

    def lock(self, name: str = "jobs/nightly") -> pb.Lock | None:
        found: pb.Lock | None = run(self.q.records(LOCK).get(name))
        return found

    def holders(self, lock: str = "jobs/nightly") -> list[tuple[str, int]]:
        return [(claim.owner, claim.token) for claim in self.claims(lock) if claim.token]

    def claims(self, lock: str = "jobs/nightly") -> list[pb.Claim]:
        async def listed() -> list[pb.Claim]:
            return [claim async for claim in self.q.records(CLAIM).list(lock=lock)]

        return run(listed())

    def write(self, claim: pb.Claim, key: str = "jobs/last") -> str:
        """Write a pair fenced by a claim, and return what it is refused with, if it is."""
        fence = Fence(lock_fence(claim.lock, claim.permit), claim.token)
        put = PutPair(key=key.encode(), value=claim.owner.encode())
        try:
            run(self.q.execute(put, PutPairReply, fence=fence))
        except RejectedError as error:
            return error.code
        return ""

    def _do(self, verb: str, item: Any) -> pb.Claim:
        claim: pb.Claim = run(self.q.records(CLAIM).do(verb, item))
        return claim


@pytest.fixture
def locks() -> Locks:
    return Locks()


def test_claims_hold_a_lock_in_their_order(locks: Locks) -> None:
    first, second, third = (locks.acquire(worker) for worker in ("a", "b", "c"))
    assert first.token > 0 == second.token == third.token
    assert [claim.owner for claim in locks.claims()] == ["a", "b", "c"]

    locks.release("a")
    [(holder, token)] = locks.holders()
    assert (holder, token > first.token) == ("b", True)
    locks.release("c")
    locks.release("b")
    assert locks.lock() is None
    assert locks.acquire("d").token > token


def test_a_claim_that_comes_again_is_the_same(locks: Locks) -> None:
    assert locks.acquire("a") == locks.acquire("a")
    assert locks.acquire("b") == locks.acquire("b")
    assert [claim.owner for claim in locks.claims()] == ["a", "b"]


def test_who_does_not_wait_is_refused(locks: Locks) -> None:
    locks.acquire("a")

    with pytest.raises(RejectedError, match="LOCK_HELD: jobs/nightly is held by a"):
        locks.acquire("b", no_wait=True)
    assert [claim.owner for claim in locks.claims()] == ["a"]
    assert run(locks.q.records(LEASE).get("jobs/b")) is None


def test_those_who_share_hold_together_and_who_does_not_waits(locks: Locks) -> None:
    shared = [locks.acquire(worker, sharing=ANY_NUMBER) for worker in ("a", "b")]
    locks.acquire("c")
    locks.acquire("d", sharing=ANY_NUMBER)
    assert len({claim.token for claim in shared}) == 1
    assert [owner for owner, _ in locks.holders()] == ["a", "b"]

    locks.release("a")
    assert [owner for owner, _ in locks.holders()] == ["b"]
    locks.release("b")
    assert [owner for owner, _ in locks.holders()] == ["c"]
    locks.release("c")
    [(holder, token)] = locks.holders()
    assert (holder, token > shared[0].token) == ("d", True)


def test_a_semaphore_has_as_many_holders_as_permits(locks: Locks) -> None:
    claims = [locks.acquire(worker, sharing=2) for worker in ("a", "b", "c")]
    assert [claim.permit for claim in claims] == [1, 2, 0]

    locks.release("b")
    [_, c] = [claim for claim in locks.claims() if claim.token]
    assert (c.owner, c.permit, c.token > claims[1].token) == ("c", 2, True)
    assert [locks.write(claim) for claim in (claims[0], claims[1], c)] == ["", "FENCED", ""]


def test_who_waited_goes_with_its_lease(locks: Locks) -> None:
    for worker in ("a", "b", "c"):
        locks.acquire(worker)
    locks.end("b")
    locks.release("a")

    assert [owner for owner, _ in locks.holders()] == ["c"]


def test_who_is_not_heard_of_loses_its_lock_and_its_turns(locks: Locks) -> None:
    locks.acquire("a")
    locks.acquire("a", "jobs/hourly")
    locks.acquire("b")
    locks.advance(TTL_MS - 1)
    locks.renew("b")
    assert [owner for owner, _ in locks.holders()] == ["a"]

    locks.advance(1)
    assert [owner for owner, _ in locks.holders()] == ["b"]
    assert locks.lock("jobs/hourly") is None
    with pytest.raises(RejectedError, match="NOT_FOUND: there is no lease jobs/a"):
        locks.renew("a")


def test_all_that_end_together_leave_nothing(locks: Locks) -> None:
    for worker in "abcd":
        for lock in ("jobs/nightly", "jobs/hourly"):
            locks.acquire(worker, lock)
    locks.advance(TTL_MS)

    for family in ("locks", "claims", "leases"):
        assert not locks.node.rows(f"coordination.{family}")


def test_writes_of_a_holder_are_refused_as_soon_as_the_lock_is_given_up(locks: Locks) -> None:
    first = locks.acquire("a")
    assert locks.write(first) == ""
    locks.release("a")
    assert locks.write(first) == "FENCED"

    second = locks.acquire("b")
    assert (locks.write(second), locks.write(first)) == ("", "FENCED")
    locks.advance(TTL_MS)
    assert locks.write(second) == "FENCED"


def test_in_another_shard_writes_are_refused_after_the_first_of_a_later_holder(
    locks: Locks,
) -> None:
    elsewhere = next(key for key in map(str, range(100)) if _shard(locks, key) != _shard(locks))
    first = locks.acquire("a")
    locks.release("a")
    second = locks.acquire("b")

    assert locks.write(first, elsewhere) == ""
    assert locks.write(second, elsewhere) == ""
    assert locks.write(first, elsewhere) == "FENCED"


def test_every_item_of_a_batch_is_fenced(locks: Locks) -> None:
    first = locks.acquire("a")
    locks.release("a")
    fence = Fence(lock_fence("jobs/nightly"), first.token)
    reply = run(locks.q.kv.put_many({"jobs/1": b"", "jobs/2": b""}, fence=fence))

    assert [each.code for each in reply.refusals] == ["FENCED", "FENCED"]
    assert isinstance(reply, BatchReply)


def test_what_a_leader_proclaims_is_seen(locks: Locks) -> None:
    locks.acquire("a", value=b"10.0.0.1")
    locks.acquire("b", value=b"10.0.0.2")
    locks.proclaim("a", b"10.0.0.1:7400")
    found = locks.lock()
    assert found is not None
    assert (found.owner, found.value, found.waiters) == ("a", b"10.0.0.1:7400", 1)

    with pytest.raises(RejectedError, match="FAILED_PRECONDITION: the claim waits"):
        locks.proclaim("b", b"")
    locks.release("a")
    found = locks.lock()
    assert found is not None
    assert (found.owner, found.value) == ("b", b"10.0.0.2")


def test_tokens_rise_over_a_restore(locks: Locks) -> None:
    before = locks.acquire("a").token
    locks.release("a")
    for shard in (each.shard for each in locks.node.replicas.values()):
        restored = command_of(RaiseGeneration(generation=1))
        shard.apply([Entry(index=shard.applied + 1, commands=(restored,), at_ms=1_000)])
    assert locks.acquire("b").token > before + (1 << 32)


def test_a_lock_and_its_lease_share_a_shard(locks: Locks) -> None:
    wanted = pb.Acquisition(lock="jobs/nightly", lease="other/a", id="1", lease_ttl_ms=TTL_MS)
    with pytest.raises(InvalidError, match="must begin like its lock, with 'jobs'"):
        run(locks.q.records(CLAIM).do("Acquire", wanted))


def test_a_lease_holds_so_much_and_no_more(locks: Locks) -> None:
    for number in range(1_000):
        locks.acquire("a", f"jobs/{number}")
    with pytest.raises(RejectedError, match="RESOURCE_EXHAUSTED: lease jobs/a has 1000"):
        locks.acquire("a")
    locks.release("a", "jobs/7")
    locks.acquire("a")
    locks.advance(TTL_MS)
    assert not locks.node.rows("coordination.claim_numbers")


def _shard(locks: Locks, key: str = "jobs") -> str:
    return run(locks.q.shard_of("metadata", key.encode()))


def test_a_token_is_believed_that_its_shard_gave_out(locks: Locks) -> None:
    held = locks.acquire("a")
    name = lock_fence(held.lock)

    def given(fence: Fence) -> bool:
        for each in NAMES:
            assert isinstance(each.value, FenceNames)
            if fence.name.startswith(prefix_of(each.value)):
                assert each.value.given is not None
                return run(awaited(each.value.given(locks.node, fence)))
        raise AssertionError(fence.name)

    assert given(Fence(name, held.token))
    assert not given(Fence(name, held.token + 1))
    assert not given(Fence(lock_fence(held.lock, 1), LAST_TOKEN))
    locks.release("a")
    assert not given(Fence(name, held.token + 2))
    # Nothing is remembered of it, so it is one of all that were given out.
    assert given(Fence(row_fence("long attached"), held.token))
    assert not given(Fence(row_fence("long attached"), LAST_TOKEN))
    assert not given(Fence(row_fence("x") + b"\xff", LAST_TOKEN))
