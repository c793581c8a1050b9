"""Writes and reads that come together are answered as if each had come alone."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from quorate.plugin import Rejected
from quorate.plugin.advanced import OutcomeUnknownError
from quorate.testing import MemoryNode
from quorate_etcd import errors
from quorate_etcd.auth import callers
from quorate_etcd.v1 import commands_pb2 as pb, guard_pb2 as guard, queries_pb2 as asked
from quorate_etcd.wire import auth_pb2 as auth, rpc_pb2 as rpc


@pytest.fixture
def calls(node: MemoryNode, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return the commands and queries that the node is given."""
    given: list[Any] = []

    def noting(call: Any) -> Any:
        def noted(message: Any, *args: Any, **more: Any) -> Any:
            given.append(message)
            return call(message, *args, **more)

        return noted

    for method in ("propose", "read"):
        monkeypatch.setattr(node, method, noting(getattr(node, method)))
    return given


async def outcomes(*calls: Any) -> list[Any]:
    found = await asyncio.gather(*calls, return_exceptions=True)
    return [(each.code, each.message) if isinstance(each, Rejected) else each for each in found]


async def test_each_write_has_its_revision(played: Any, calls: list[Any]) -> None:
    compare = rpc.Compare(target=rpc.Compare.VERSION, key=b"a", version=2)
    delete = rpc.RequestOp(request_delete_range=rpc.DeleteRangeRequest(key=b"a"))
    look = rpc.RequestOp(request_range=rpc.RangeRequest(key=b"a"))
    txn = rpc.TxnRequest(compare=[compare], success=[look, delete], failure=[look])
    found = await outcomes(
        *(played.put(b"a", b"%d" % number) for number in range(2)),
        played.put(b"a", lease=7),
        played.kv.Txn(txn, None),
        played.put(b"b"),
        played.delete(b"a"),
    )
    assert [*found[:3], *found[4:]] == [2, 3, errors.LEASE_NOT_FOUND, 5, 5]
    done: rpc.TxnResponse = found[3]
    assert (done.succeeded, done.header.revision) == (True, 4)
    assert done.responses[0].response_range.kvs[0].value == b"1"
    assert [type(each) for each in calls] == [pb.TransactAll]
    assert {key: each.mod_revision for key, each in (await played.pairs()).items()} == {b"b": 5}
    assert (await played.pairs(3))[b"a"].version == 2


async def test_what_may_be_refused_halfway_goes_alone(played: Any, calls: list[Any]) -> None:
    await asyncio.gather(
        played.put(b"a"), played.delete(b"a", b"c"), played.put(b"large", bytes(20_000))
    )
    assert [type(each) for each in calls] == [pb.Transact] * 3


async def test_writes_that_are_refused_together_go_alone(
    played: Any, node: MemoryNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    propose, refusals = node.propose, [Rejected("INTERNAL", "a bug"), Rejected("TOO_LARGE", "all")]

    async def refusing(command: Any, *args: Any) -> Any:
        if isinstance(command, pb.TransactAll):
            raise refusals.pop()
        return await propose(command, *args)

    monkeypatch.setattr(node, "propose", refusing)
    for revisions in ([2, 3], [4, 5]):
        assert await outcomes(played.put(b"a"), played.put(b"b")) == revisions
    refusals.append(Rejected(*errors.TIMED_OUT))
    assert await outcomes(played.put(b"a"), played.put(b"b")) == [errors.TIMED_OUT] * 2


async def test_what_may_be_carried_out_is_not_repeated(
    played: Any, node: MemoryNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    proposed: list[Any] = []

    async def losing(command: Any, *args: Any) -> Any:
        proposed.append(command)
        raise OutcomeUnknownError("lost")

    monkeypatch.setattr(node, "propose", losing)
    found = await outcomes(played.put(b"a"), played.put(b"b"))
    assert (found, len(proposed)) == ([errors.TIMED_OUT_LEADER] * 2, 1)


async def test_newest_pairs_are_read_together(played: Any, calls: list[Any]) -> None:
    await played.put(b"a", b"1")
    calls.clear()
    found = await asyncio.gather(*(played.range(key, b"") for key in (b"a", b"b")))
    assert [(each.count, each.header.revision, len(each.kvs)) for each in found] == [
        (1, 2, 1),
        (0, 2, 0),
    ]
    assert (found[0].kvs[0].value, found[0].kvs[0].version) == (b"1", 1)
    assert [type(each) for each in calls] == [asked.GetAll]


async def test_pairs_that_are_too_large_together_are_read_alone(
    played: Any, calls: list[Any]
) -> None:
    for number in range(18):
        await played.put(b"%d" % number, bytes(1 << 20))
    calls.clear()
    found = await asyncio.gather(*(played.range(b"%d" % number, b"") for number in range(18)))
    assert all(len(each.kvs[0].value) == 1 << 20 for each in found)
    assert len(calls) == 19


async def test_each_is_checked_for_its_user(played: Any, node: MemoryNode) -> None:
    permission = auth.Permission(permType=auth.Permission.READWRITE, key=b"a")
    for change in (
        guard.Administer(user_add=guard.User(name="root"), secret=b"s"),
        guard.Administer(user_add=guard.User(name="alice")),
        guard.Administer(role_add="root"),
        guard.Administer(role_add="some"),
        guard.Administer(role_grant=guard.RoleGrant(role="some", permission=permission)),
        guard.Administer(user_grant=guard.Grant(user="root", role="root")),
        guard.Administer(user_grant=guard.Grant(user="alice", role="some")),
        guard.Administer(enable=True),
    ):
        await node.propose(change, guard.Administered)

    async def of(user: str, call: Any) -> Any:
        callers.user.set(user)
        return await call

    found = await outcomes(
        of("alice", played.put(b"a")),
        of("alice", played.put(b"b")),
        of("root", played.put(b"b")),
        of("", played.put(b"a")),
    )
    assert found == [2, errors.PERMISSION_DENIED, 3, errors.EMPTY_USER]
    read = await outcomes(
        of("alice", played.range(b"b", b"")),
        of("root", played.range(b"b", b"")),
        of("alice", played.range(b"a", b"")),
    )
    assert read[0] == errors.PERMISSION_DENIED
    assert [each.count for each in read[1:]] == [1, 1]
