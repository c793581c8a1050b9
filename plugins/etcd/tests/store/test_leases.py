from typing import Any

import pytest
from quorate_etcd import errors
from quorate_etcd.families import LEASE_COUNTS, LEASE_KEYS, LEASES
from quorate_etcd.store import leases, sweeping
from quorate_etcd.wire import rpc_pb2 as rpc


async def time_to_live(played: Any, number: int) -> tuple[int, int, list[bytes]]:
    request = rpc.LeaseTimeToLiveRequest(ID=number, keys=True)
    answer = await played.lease.LeaseTimeToLive(request, None)
    return answer.TTL, answer.grantedTTL, list(answer.keys)


async def test_a_lease_ends_with_its_keys_in_one_revision(played: Any) -> None:
    await played.grant(1, 10)
    await played.put(b"b", b"1", 1)
    await played.put(b"a", b"1", 1)
    await played.put(b"c")
    assert await time_to_live(played, 1) == (10, 10, [b"a", b"b"])
    await played.node.advance(4_500)
    assert (await time_to_live(played, 1))[0] == 5
    await played.node.advance(5_400)
    assert (await played.range()).count == 3
    await played.node.advance(200)
    left = await played.range()
    assert ([each.key for each in left.kvs], left.header.revision) == ([b"c"], 5)
    assert await time_to_live(played, 1) == (-1, 0, [])
    assert not played.node.rows(LEASES)
    assert not played.node.rows(LEASE_KEYS)


async def test_each_lease_ends_in_a_revision_of_its_own(played: Any) -> None:
    for number in (1, 2, 3):
        await played.grant(number, 10)
    await played.put(b"a", b"", 1)
    await played.put(b"b", b"", 2)
    await played.node.advance(11_000)
    # The third had no keys.
    assert (await played.range()).header.revision == 5


async def test_a_new_leader_gives_a_whole_time_to_live(played: Any) -> None:
    await played.grant(1, 10)
    await played.put(b"a", b"", 1)
    await played.node.advance(9_000)
    played.node.elect("etcd")
    await played.node.advance(9_000)
    assert (await played.range()).count == 1
    await played.node.advance(2_000)
    assert (await played.range()).count == 0


async def test_a_store_has_so_many_leases(played: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeping, "MOST_DIRECT", 0)
    monkeypatch.setattr(sweeping, "MOST_SWEPT", 1)
    played = type(played)(played.node, leases=2)
    await played.grant(1, 10)
    await played.grant(2)
    for key in (b"a", b"b", b"c"):
        await played.put(key, b"", 1)
    request = rpc.LeaseGrantRequest(ID=3, TTL=60)
    code, text = await played.refused(played.lease, "LeaseGrant", request)
    assert (code, text.split(":")[0]) == (
        "RESOURCE_EXHAUSTED",
        "the store has 2 leases (leases of [plugins.etcd])",
    )
    # The first one ends in several transactions, and counts once.
    for _ in range(12):
        await played.node.advance(1_000)
    assert (await played.range()).count == 0
    await played.grant(3)
    request.ID = 4
    assert await played.refused(played.lease, "LeaseGrant", request) == (code, text)
    for number in (2, 3):
        await played.lease.LeaseRevoke(rpc.LeaseRevokeRequest(ID=number), None)
    assert not played.node.rows(LEASE_COUNTS)


async def test_a_key_has_one_lease(played: Any) -> None:
    await played.grant(1)
    await played.grant(2)
    await played.put(b"a", b"", 1)
    await played.put(b"a", b"", 2)
    assert (await time_to_live(played, 1))[2] == []
    await played.lease.LeaseRevoke(rpc.LeaseRevokeRequest(ID=1), None)
    assert (await played.range()).count == 1
    await played.put(b"a")
    await played.lease.LeaseRevoke(rpc.LeaseRevokeRequest(ID=2), None)
    assert (await played.range()).count == 1


async def test_a_lease_with_very_many_keys_ends_in_parts(
    played: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeping, "MOST_DIRECT", 2)
    monkeypatch.setattr(sweeping, "MOST_SWEPT", 3)
    await played.grant(1)
    for number in range(8):
        await played.put(b"%d" % number, b"", 1)
    await played.lease.LeaseRevoke(rpc.LeaseRevokeRequest(ID=1), None)
    assert (await played.range()).count == 5
    # Nothing can be attached to it, and there is no other of its number, until all have ended.
    assert (
        await played.refused(played.kv, "Put", rpc.PutRequest(key=b"x", lease=1))
        == errors.LEASE_NOT_FOUND
    )
    assert (
        await played.refused(played.lease, "LeaseGrant", rpc.LeaseGrantRequest(ID=1))
        == errors.LEASE_EXISTS
    )
    for _ in range(2):
        await played.node.advance(10)
    assert (await played.range()).count == 0
    await played.grant(1)


async def test_leases_are_listed_soonest_first(
    played: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "_LEASES_IN_PAGE", 2)
    for number, ttl_s in ((5, 300), (-6, 100), (7, 200)):
        await played.grant(number, ttl_s)
    answer = await played.lease.LeaseLeases(rpc.LeaseLeasesRequest(), None)
    assert [each.ID for each in answer.leases] == [-6, 7, 5]


@pytest.mark.parametrize(
    ("ttl_s", "granted_s"), [(-5, 2), (0, 2), (1, 2), (3, 3), (9_000_000_000, 9_000_000_000)]
)
async def test_times_to_live(played: Any, ttl_s: int, granted_s: int) -> None:
    answer = await played.lease.LeaseGrant(rpc.LeaseGrantRequest(TTL=ttl_s), None)
    assert granted_s == answer.TTL
    assert answer.ID > 0
