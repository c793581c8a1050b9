"""The services beside the keys, over the wire and on a node in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc
import grpc.aio
import pytest
from quorate.plugin import Invalid
from quorate.plugin.advanced import Stub
from quorate.testing import MemoryNode
from quorate.testing.ports import free_ports
from quorate_etcd import errors
from quorate_etcd.auth import tokens
from quorate_etcd.serving.http import routes
from quorate_etcd.v1 import commands_pb2 as pb, stores_pb2 as stores
from quorate_etcd.wire import (
    auth_pb2 as auth,
    election_pb2 as election,
    lock_pb2 as lock,
    rpc_pb2 as rpc,
)

_S = 30.0


class Client:
    """Calls all services at a port."""

    def __init__(self, port: int, number: int = 0) -> None:
        options = (("quorate.number", number), ("grpc.use_local_subchannel_pool", 1))
        self.channel = grpc.aio.insecure_channel(f"127.0.0.1:{port}", options)
        self.kv = Stub(self.channel, routes.KV)
        self.watch = Stub(self.channel, routes.WATCH)
        self.lease = Stub(self.channel, routes.LEASE)
        self.cluster = Stub(self.channel, routes.CLUSTER)
        self.maintenance = Stub(self.channel, routes.MAINTENANCE)
        self.auth = Stub(self.channel, routes.AUTH)
        self.lock = Stub(self.channel, routes.LOCK)
        self.election = Stub(self.channel, routes.ELECTION)

    async def put(self, key: bytes, token: str = "", **more: Any) -> Any:
        return await self.kv.Put(rpc.PutRequest(key=key, **more), metadata=said(token), timeout=_S)

    async def get(self, key: bytes, token: str = "", **more: Any) -> Any:
        request = rpc.RangeRequest(key=key, **more)
        return await self.kv.Range(request, metadata=said(token), timeout=_S)


def said(token: str) -> tuple[tuple[str, str], ...]:
    return (("token", token),) if token else ()


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    [port] = free_ports(0)
    async with MemoryNode(["etcd"], config={"etcd": {"port": port}}):
        client = Client(port)
        yield client
        await client.channel.close(None)


async def refusal(call: Any) -> tuple[str, str]:
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await call
    return raised.value.code().name, raised.value.details() or ""


async def refuses(call: Any, expected: errors.Refusal) -> None:
    assert await refusal(call) == (expected.code, expected.text)


# Members and the state of a node.


async def test_a_node_lists_itself_with_its_url(client: Client) -> None:
    async with asyncio.timeout(_S):
        while True:
            found = await client.cluster.MemberList(rpc.MemberListRequest(linearizable=True))
            if found.members:
                break
    [member] = found.members
    status = await client.maintenance.Status(rpc.StatusRequest())
    assert member.name == "memory"
    assert member.clientURLs[0].startswith("http://127.0.0.1:")
    assert member.ID == status.leader == status.header.member_id != 0
    assert found.header.revision == 0
    assert found.header.cluster_id != 0
    assert status.header.raft_term == status.raftTerm > 0
    assert status.dbSize > 0
    assert not status.errors


async def test_members_are_changed_by_commands_of_quorate(client: Client) -> None:
    cluster = client.cluster
    url = "http://127.0.0.1:1"
    code, text = await refusal(cluster.MemberAdd(rpc.MemberAddRequest(peerURLs=[url])))
    assert code == "FAILED_PRECONDITION"
    assert "quorate member add" in text
    for urls in ([], ["ftp://x:1"], ["http://x"], ["http://x:1/path"], ["http://x:y"]):
        call = cluster.MemberAdd(rpc.MemberAddRequest(peerURLs=urls))
        await refuses(call, errors.BAD_MEMBER_URLS)
    await refuses(cluster.MemberRemove(rpc.MemberRemoveRequest(ID=1)), errors.MEMBER_NOT_FOUND)
    await refuses(cluster.MemberPromote(rpc.MemberPromoteRequest(ID=1)), errors.MEMBER_NOT_FOUND)
    update = rpc.MemberUpdateRequest(ID=1, peerURLs=[url])
    await refuses(cluster.MemberUpdate(update), errors.MEMBER_NOT_FOUND)


async def test_the_leadership_goes_to_members_alone(client: Client) -> None:
    call = client.maintenance.MoveLeader(rpc.MoveLeaderRequest(targetID=1))
    await refuses(call, errors.BAD_TRANSFEREE)


async def test_sums_are_those_of_a_revision(client: Client) -> None:
    maintenance = client.maintenance
    await client.put(b"a", value=b"1")
    first = await maintenance.HashKV(rpc.HashKVRequest())
    await client.put(b"a", value=b"2")
    second = await maintenance.HashKV(rpc.HashKVRequest())
    assert first.hash != second.hash
    assert (await maintenance.HashKV(rpc.HashKVRequest(revision=2))).hash == first.hash
    assert (second.hash_revision, second.header.revision, second.compact_revision) == (3, 3, -1)
    assert (await maintenance.Hash(rpc.HashRequest())).hash == second.hash
    await refuses(maintenance.HashKV(rpc.HashKVRequest(revision=9)), errors.FUTURE_REVISION)
    await client.kv.Compact(rpc.CompactionRequest(revision=3))
    await refuses(maintenance.HashKV(rpc.HashKVRequest(revision=2)), errors.COMPACTED)


async def test_what_is_not_served_says_what_to_use(client: Client) -> None:
    maintenance = client.maintenance
    code, text = await refusal(maintenance.Snapshot(rpc.SnapshotRequest()).read())
    assert code == "UNIMPLEMENTED"
    assert "`quorate backup`" in text
    assert "`quorate etcd export`" in text
    await maintenance.Defragment(rpc.DefragmentRequest())
    cancel = rpc.DowngradeRequest(action=rpc.DowngradeRequest.CANCEL)
    await refuses(maintenance.Downgrade(cancel), errors.NOT_DOWNGRADING)
    for version, expected in (
        ("x", errors.BAD_DOWNGRADE_FORMAT),
        ("3.1", errors.BAD_DOWNGRADE_TARGET),
    ):
        await refuses(maintenance.Downgrade(rpc.DowngradeRequest(version=version)), expected)


async def test_a_store_without_space_takes_no_pairs(client: Client) -> None:
    """Deletions and compaction pass; the alarm is ended by whoever has made space."""
    maintenance, alarm = client.maintenance, rpc.AlarmMember(memberID=7, alarm=rpc.NOSPACE)
    await client.put(b"a", value=b"1")
    on = rpc.AlarmRequest(action=rpc.AlarmRequest.ACTIVATE, memberID=7, alarm=rpc.NOSPACE)
    for _ in range(2):
        assert list((await maintenance.Alarm(on)).alarms) == [alarm]
    assert list((await maintenance.Alarm(rpc.AlarmRequest())).alarms) == [alarm]
    assert (await maintenance.Status(rpc.StatusRequest())).errors == ["memberID:7 alarm:NOSPACE"]
    put = rpc.RequestOp(request_put=rpc.PutRequest(key=b"b"))
    nested = rpc.RequestOp(request_txn=rpc.TxnRequest(failure=[put]))
    await refuses(client.put(b"b"), errors.NO_SPACE)
    await refuses(client.kv.Txn(rpc.TxnRequest(success=[nested])), errors.NO_SPACE)
    await refuses(client.lease.LeaseGrant(rpc.LeaseGrantRequest(TTL=9)), errors.NO_SPACE)
    assert (await client.kv.DeleteRange(rpc.DeleteRangeRequest(key=b"a"))).deleted == 1
    await client.kv.Compact(rpc.CompactionRequest(revision=2))
    off = rpc.AlarmRequest(action=rpc.AlarmRequest.DEACTIVATE, memberID=7, alarm=rpc.NOSPACE)
    assert list((await maintenance.Alarm(off)).alarms) == [alarm]
    assert not (await maintenance.Alarm(off)).alarms
    await client.put(b"b")


# Watches.


async def create(stream: Any, number: int) -> rpc.WatchResponse:
    request = rpc.WatchCreateRequest(key=b"a", watch_id=number)
    await stream.write(rpc.WatchRequest(create_request=request))
    response: rpc.WatchResponse = await stream.read()
    return response


@pytest.mark.parametrize(
    ("setting", "others"), [({"connection_watches": 2}, True), ({"watches": 2}, False)]
)
async def test_a_watch_too_many_is_refused_alone(setting: dict[str, int], others: bool) -> None:
    [port] = free_ports(0)
    async with MemoryNode(["etcd"], config={"etcd": {"port": port, **setting}}) as node:
        # Channels to one address share a connection otherwise.
        first, second = (Client(port, number) for number in range(2))
        streams = [first.watch.Watch(timeout=_S) for _ in range(2)]
        for stream in streams:
            assert not (await create(stream, 1)).canceled
        refused = await create(streams[0], 2)
        assert (refused.watch_id, refused.created, refused.canceled) == (-1, True, True)
        assert next(iter(setting)) in refused.cancel_reason
        assert refused.cancel_reason.startswith(errors.PREFIX)
        assert node.metrics.get('quorate_etcd_watches_refused_total{store=""}') == 1
        elsewhere = second.watch.Watch(timeout=_S)
        assert (await create(elsewhere, 1)).canceled is not others
        await first.put(b"a")
        for stream in streams:
            assert (await stream.read()).events
        streams[1].cancel()
        async with asyncio.timeout(_S):
            # One more has room as soon as another one has ended.
            while (await create(streams[0], 2)).canceled:
                await asyncio.sleep(0.01)
        for each in (first, second):
            await each.channel.close(None)


# Those who run it.


async def test_a_node_shows_its_stores() -> None:
    ports = free_ports(0, 1)
    section = {"port": ports[0], "stores": {"events": ports[1]}}
    async with MemoryNode(["etcd"], config={"etcd": section}) as node:
        client = Client(ports[1])
        await client.put(b"a")
        await granted(client)
        assert (await create(client.watch.Watch(timeout=_S), 1)).created
        service = node.servicer("quorate_etcd.v1.StoreService")
        found = await service.ListStores(stores.ListStoresRequest(), None)
        shown = [(each.store, each.port, each.revision, each.compacted) for each in found.stores]
        assert shown == [("", ports[0], 1, -1), ("events", ports[1], 2, -1)]
        events = found.stores[1]
        assert (events.node, events.leader, events.leases, events.watches) == (
            *("memory", "memory"),
            *(1, 1),
        )
        await service.LeapStore(pb.Leap(store="events", revision=100), None)
        assert (await client.put(b"a")).header.revision == 101
        for refused in (pb.Leap(store="no", revision=9), pb.Leap(revision=(1 << 62) + 1)):
            with pytest.raises(Invalid):
                await service.LeapStore(refused, None)
        await client.channel.close(None)


# Locks and elections.


async def granted(client: Client) -> int:
    return int((await client.lease.LeaseGrant(rpc.LeaseGrantRequest(TTL=60))).ID)


async def keys_of(client: Client, prefix: bytes) -> list[bytes]:
    found = await client.get(prefix, range_end=prefix + b"\xff", sort_target=2)
    return [pair.key for pair in found.kvs]


async def waiting(client: Client, prefix: bytes, count: int) -> list[bytes]:
    async with asyncio.timeout(_S):
        while len(keys := await keys_of(client, prefix)) != count:
            await asyncio.sleep(0.01)
    return keys


async def test_a_lock_goes_to_whoever_came_first(client: Client) -> None:
    leases = [await granted(client) for _ in range(3)]
    first = await client.lock.Lock(lock.LockRequest(name=b"l", lease=leases[0]))
    assert first.key == b"l/%x" % leases[0]
    again = await client.lock.Lock(lock.LockRequest(name=b"l", lease=leases[0]))
    assert again.key == first.key
    second = client.lock.Lock(lock.LockRequest(name=b"l", lease=leases[1]), timeout=_S)
    await waiting(client, b"l/", 2)
    third = client.lock.Lock(lock.LockRequest(name=b"l", lease=leases[2]), timeout=_S)
    await waiting(client, b"l/", 3)
    # Whoever does not wait any more leaves no key behind.
    second.cancel()
    await waiting(client, b"l/", 2)
    assert not third.done()
    await client.lock.Unlock(lock.UnlockRequest(key=first.key))
    assert (await third).key == b"l/%x" % leases[2]
    await client.lock.Unlock(lock.UnlockRequest(key=b"none"))


async def test_a_lock_without_a_lease_gets_one(client: Client) -> None:
    held = await client.lock.Lock(lock.LockRequest(name=b"l"))
    [pair] = (await client.get(held.key)).kvs
    assert held.key == b"l/%x" % pair.lease
    call = client.lock.Lock(lock.LockRequest(name=b"m", lease=12345))
    await refuses(call, errors.LOCK_LEASE_NOT_FOUND)


async def test_leaders_follow_each_other(client: Client) -> None:
    calls, leases = client.election, [await granted(client) for _ in range(2)]
    name = election.LeaderRequest(name=b"e")
    await refuses(calls.Leader(name), errors.NO_ELECTION_LEADER)
    seen = calls.Observe(name)
    first = await calls.Campaign(
        election.CampaignRequest(name=b"e", lease=leases[0], value=b"one"), timeout=_S
    )
    assert (await calls.Leader(name)).kv.value == b"one"
    assert (await seen.read()).kv.value == b"one"
    later = calls.Campaign(
        election.CampaignRequest(name=b"e", lease=leases[1], value=b"two"), timeout=_S
    )
    await waiting(client, b"e/", 2)
    await calls.Proclaim(election.ProclaimRequest(leader=first.leader, value=b"1"))
    assert (await seen.read()).kv.value == b"1"
    await calls.Resign(election.ResignRequest(leader=first.leader))
    second = await later
    assert (second.leader.lease, second.leader.name) == (leases[1], b"e")
    assert (await seen.read()).kv.value == b"two"
    seen.cancel()
    call = calls.Proclaim(election.ProclaimRequest(leader=first.leader, value=b"1"))
    await refuses(call, errors.NOT_ELECTED)
    await calls.Resign(election.ResignRequest(leader=first.leader))
    for call in (
        calls.Proclaim(election.ProclaimRequest()),
        calls.Resign(election.ResignRequest()),
    ):
        await refuses(call, errors.LEADER_FIELD_MISSING)


# Users.


async def token_of(client: Client, name: str, password: str) -> str:
    request = rpc.AuthenticateRequest(name=name, password=password)
    return str((await client.auth.Authenticate(request)).token)


async def enabled(client: Client) -> str:
    """Let root and alice count, who may read [a, e) in two parts and write b."""
    calls = client.auth
    for name in ("root", "alice"):
        await calls.UserAdd(rpc.AuthUserAddRequest(name=name, password=name))
    await calls.RoleAdd(rpc.AuthRoleAddRequest(name="r"))
    for kind, key, end in ((0, b"a", b"c"), (0, b"c", b"e"), (1, b"b", b"")):
        permission = auth.Permission(permType=kind, key=key, range_end=end)  # type: ignore[arg-type]
        await calls.RoleGrantPermission(
            rpc.AuthRoleGrantPermissionRequest(name="r", perm=permission)
        )
    await calls.UserGrantRole(rpc.AuthUserGrantRoleRequest(user="alice", role="r"))
    await refuses(calls.AuthEnable(rpc.AuthEnableRequest()), errors.ROOT_ROLE_MISSING)
    await calls.UserGrantRole(rpc.AuthUserGrantRoleRequest(user="root", role="root"))
    await calls.AuthEnable(rpc.AuthEnableRequest())
    return await token_of(client, "root", "root")


async def test_users_need_root(client: Client) -> None:
    await refuses(client.auth.AuthEnable(rpc.AuthEnableRequest()), errors.ROOT_MISSING)
    call = client.auth.Authenticate(rpc.AuthenticateRequest(name="a"))
    await refuses(call, errors.AUTH_DISABLED)
    await enabled(client)
    assert (await client.auth.AuthStatus(rpc.AuthStatusRequest())).enabled


async def test_rights_are_the_union_of_ranges(client: Client) -> None:
    root = await enabled(client)
    alice = await token_of(client, "alice", "alice")
    await client.put(b"d", root, value=b"1")
    assert (await client.get(b"a", alice, range_end=b"e")).count == 1
    await refuses(client.get(b"a", alice, range_end=b"f"), errors.PERMISSION_DENIED)
    await refuses(client.get(b"a", alice, range_end=b"\0"), errors.PERMISSION_DENIED)
    await client.put(b"b", alice)
    await refuses(client.put(b"a", alice), errors.PERMISSION_DENIED)
    denied = rpc.RequestOp(request_put=rpc.PutRequest(key=b"a"))
    for more in (
        {"success": [denied]},
        {"failure": [denied]},
        {"failure": [rpc.RequestOp(request_txn=rpc.TxnRequest(success=[denied]))]},
        {"compare": [rpc.Compare(key=b"z")]},
    ):
        call = client.kv.Txn(rpc.TxnRequest(**more), metadata=said(alice))
        await refuses(call, errors.PERMISSION_DENIED)
    await refuses(
        client.kv.DeleteRange(
            rpc.DeleteRangeRequest(key=b"b", range_end=b"c"), metadata=said(alice)
        ),
        errors.PERMISSION_DENIED,
    )


async def test_a_lease_needs_rights_to_all_of_its_keys(client: Client) -> None:
    root = await enabled(client)
    alice = await token_of(client, "alice", "alice")
    granted = await client.lease.LeaseGrant(rpc.LeaseGrantRequest(TTL=60), metadata=said(alice))
    await client.put(b"d", root, lease=granted.ID)
    await refuses(client.put(b"b", alice, lease=granted.ID), errors.PERMISSION_DENIED)
    revoke = rpc.LeaseRevokeRequest(ID=granted.ID)
    await refuses(client.lease.LeaseRevoke(revoke, metadata=said(alice)), errors.PERMISSION_DENIED)
    look = rpc.LeaseTimeToLiveRequest(ID=granted.ID, keys=True)
    found = await client.lease.LeaseTimeToLive(look, metadata=said(alice))
    assert list(found.keys) == [b"d"]
    await client.put(b"z", root, lease=granted.ID)
    await refuses(
        client.lease.LeaseTimeToLive(look, metadata=said(alice)), errors.PERMISSION_DENIED
    )
    await client.lease.LeaseRevoke(revoke, metadata=said(root))


async def test_what_only_root_may_do(client: Client) -> None:
    root = await enabled(client)
    alice = await token_of(client, "alice", "alice")
    maintenance, calls = client.maintenance, client.auth
    on = rpc.AlarmRequest(action=rpc.AlarmRequest.ACTIVATE, alarm=rpc.NOSPACE)
    call: Any
    request: Any
    for call, request in (
        (calls.UserList, rpc.AuthUserListRequest()),
        (calls.UserAdd, rpc.AuthUserAddRequest(name="x")),
        (calls.RoleList, rpc.AuthRoleListRequest()),
        (calls.AuthDisable, rpc.AuthDisableRequest()),
        (client.kv.Compact, rpc.CompactionRequest(revision=1)),
        (maintenance.Defragment, rpc.DefragmentRequest()),
        (maintenance.Hash, rpc.HashRequest()),
        (maintenance.HashKV, rpc.HashKVRequest()),
        (maintenance.MoveLeader, rpc.MoveLeaderRequest()),
        (maintenance.Alarm, on),
        (client.cluster.MemberRemove, rpc.MemberRemoveRequest()),
        (calls.UserGet, rpc.AuthUserGetRequest(name="root")),
        (calls.RoleGet, rpc.AuthRoleGetRequest(role="root")),
    ):
        await refuses(call(request, metadata=said(alice)), errors.PERMISSION_DENIED)
        await refuses(call(request), errors.EMPTY_USER)
    for call, request in (
        (maintenance.Status, rpc.StatusRequest()),
        (maintenance.Alarm, rpc.AlarmRequest()),
        (client.cluster.MemberList, rpc.MemberListRequest()),
        (calls.UserGet, rpc.AuthUserGetRequest(name="alice")),
        (calls.RoleGet, rpc.AuthRoleGetRequest(role="r")),
    ):
        await call(request, metadata=said(alice))
    for call, request in (
        (calls.UserDelete, rpc.AuthUserDeleteRequest(name="root")),
        (calls.RoleDelete, rpc.AuthRoleDeleteRequest(role="root")),
        (calls.UserRevokeRole, rpc.AuthUserRevokeRoleRequest(name="root", role="root")),
    ):
        await refuses(call(request, metadata=said(root)), errors.INVALID_AUTH)


async def test_a_watch_needs_the_right_to_read(client: Client) -> None:
    await enabled(client)
    alice = await token_of(client, "alice", "alice")
    stream = client.watch.Watch(metadata=said(alice), timeout=_S)
    for key, reason in (
        (b"z", "rpc error: code = PermissionDenied desc = etcdserver: permission denied"),
        (b"a", ""),
    ):
        await stream.write(rpc.WatchRequest(create_request=rpc.WatchCreateRequest(key=key)))
        answer = await stream.read()
        assert answer.created
        assert answer.cancel_reason == reason
        assert answer.canceled is bool(reason)
    stream.cancel()


async def test_tokens_end_with_their_password(client: Client) -> None:
    root = await enabled(client)
    await refuses(client.get(b"a"), errors.EMPTY_USER)
    await refuses(client.get(b"a", "forged"), errors.INVALID_TOKEN)
    wrong = rpc.AuthenticateRequest(name="alice", password="wrong")
    await refuses(client.auth.Authenticate(wrong), errors.AUTH_FAILED)
    stranger = rpc.AuthenticateRequest(name="stranger", password="wrong")
    await refuses(client.auth.Authenticate(stranger), errors.AUTH_FAILED)
    alice = await token_of(client, "alice", "alice")
    await client.get(b"a", alice)
    change = rpc.AuthUserChangePasswordRequest(name="alice", password="other")
    await client.auth.UserChangePassword(change, metadata=said(root))
    await refuses(client.get(b"a", alice), errors.INVALID_TOKEN)
    alice = await token_of(client, "alice", "other")
    await client.get(b"a", alice)
    await client.auth.UserDelete(rpc.AuthUserDeleteRequest(name="alice"), metadata=said(root))
    await refuses(client.get(b"a", alice), errors.INVALID_TOKEN)
    await client.auth.AuthDisable(rpc.AuthDisableRequest(), metadata=said(root))
    await client.get(b"a")


def test_tokens_are_signed_and_age() -> None:
    claim = tokens.Claim("a.b\n", 3, 1_000)
    token = tokens.issue(claim, b"secret")
    assert tokens.read(token, b"secret", 1_000, 60) == claim
    assert tokens.read(token, b"secret", 1_060, 60) == claim
    assert tokens.read(token, b"secret", 1_061, 60) is None
    assert tokens.read(token, b"other", 1_000, 60) is None
    assert tokens.read(token, b"", 1_000, 60) is None
    assert tokens.read(token, b"secret", 0, 60) is None
    for forged in ("", "...", "é.1.2.3", token[:-1], "a" * 10_000, token.replace(".3.", ".4.")):
        assert tokens.read(forged, b"secret", 1_000, 60) is None
