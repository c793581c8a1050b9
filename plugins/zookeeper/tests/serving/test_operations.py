"""What requests do, and how they are answered."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest
from quorate_zookeeper.serving import reading
from quorate_zookeeper.tree import nodes
from quorate_zookeeper.v1 import queries_pb2 as pb
from quorate_zookeeper.wire import jute
from quorate_zookeeper.wire.codes import Error, Op

from tests.support.zookeeper.peers import (
    EPHEMERAL,
    OPEN,
    SEQUENTIAL,
    Door,
    Event,
    Peer,
    Stat,
    acl,
    create,
    delete,
    multi,
    read,
    set_data,
)

READ_ONLY = ((1, "world", "anyone"),)


async def test_a_create_shows_in_the_stats_of_child_and_parent(peer: Peer) -> None:
    reply = await peer.ask(Op.CREATE2, create("/a", b"abc"))
    record = reply.record
    assert record.text() == "/a"
    stat = Stat.of(record)
    assert (stat.czxid, stat.mzxid, stat.pzxid) == (reply.zxid,) * 3
    assert (stat.version, stat.length, stat.owner, stat.children) == (0, 3, 0, 0)
    await peer.ask(Op.CREATE, create("/a/b"))
    deleted = await peer.ask(Op.DELETE, delete("/a/b"))
    parent = await peer.stat("/a")
    assert parent is not None
    assert (parent.cversion, parent.children, parent.pzxid) == (2, 0, deleted.zxid)
    assert parent.mzxid == stat.mzxid


async def test_null_is_not_empty(peer: Peer) -> None:
    await peer.ask(Op.CREATE, create("/a", None))
    assert (await peer.ask(Op.GET_DATA, read("/a"))).record.buffer() is None
    await peer.ask(Op.SET_DATA, set_data("/a", b""))
    assert (await peer.ask(Op.GET_DATA, read("/a"))).record.buffer() == b""
    await peer.ask(Op.SET_DATA, set_data("/a", None))
    assert (await peer.ask(Op.GET_DATA, read("/a"))).record.buffer() is None


async def test_sequence_numbers_count_the_creates_of_the_parent(peer: Peer) -> None:
    await peer.ask(Op.CREATE, create("/s"))
    await peer.ask(Op.CREATE, create("/s/plain"))
    await peer.ask(Op.DELETE, delete("/s/plain"))
    assert (await peer.ask(Op.CREATE, create("/s/", flags=SEQUENTIAL))).record.text() == (
        "/s/0000000001"
    )
    assert (await peer.ask(Op.CREATE, create("/s/n-", flags=3))).record.text() == "/s/n-0000000002"


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("a", Error.BAD_ARGUMENTS),
        ("/a/", Error.NO_NODE),
        ("/a/./b", Error.NO_NODE),
        ("/.", Error.BAD_ARGUMENTS),
        ("/..", Error.BAD_ARGUMENTS),
        ("/a\x01", Error.BAD_ARGUMENTS),
        ("/a\x00", Error.BAD_ARGUMENTS),
        ("/\ue000", Error.BAD_ARGUMENTS),
        ("/\U0001f600", Error.BAD_ARGUMENTS),
        ("/a//b", Error.NO_NODE),
        ("/", Error.NODE_EXISTS),
        ("/zookeeper", Error.NODE_EXISTS),
    ],
)
async def test_paths_are_checked_in_the_order_of_a_stock_server(
    peer: Peer, path: str, error: Error
) -> None:
    assert (await peer.ask(Op.CREATE, create(path))).error == error


async def test_creates_are_refused_for_the_first_reason(peer: Peer) -> None:
    async def error(path: str, *, flags: int = 0, op: Op = Op.CREATE) -> int:
        return (await peer.ask(op, create(path, flags=flags))).error

    assert await error("/x", flags=7) == Error.BAD_ARGUMENTS
    assert await error("/x", flags=5) == Error.BAD_ARGUMENTS
    assert await error("/x/y") == Error.NO_NODE
    assert await error("/e", flags=EPHEMERAL) == Error.OK
    assert await error("/e") == Error.NODE_EXISTS
    assert await error("/e/y") == Error.NO_CHILDREN_FOR_EPHEMERALS
    ttl = create("/t", flags=5) + jute.int64(0)
    assert (await peer.ask(Op.CREATE_TTL, ttl)).error == Error.BAD_ARGUMENTS
    no_acl = create("/x", entries=())
    assert (await peer.ask(Op.CREATE, no_acl)).error == Error.INVALID_ACL


async def test_versions_and_children_are_checked_before_a_delete(peer: Peer) -> None:
    await peer.ask(Op.CREATE, create("/a"))
    await peer.ask(Op.CREATE, create("/a/b"))
    assert (await peer.ask(Op.DELETE, delete("/a", 3))).error == Error.BAD_VERSION
    assert (await peer.ask(Op.DELETE, delete("/a", 0))).error == Error.NOT_EMPTY
    assert (await peer.ask(Op.DELETE, delete("/c"))).error == Error.NO_NODE
    assert (await peer.ask(Op.DELETE, delete("/zookeeper"))).error == Error.BAD_ARGUMENTS
    assert (await peer.ask(Op.SET_DATA, set_data("/a", b"", 3))).error == Error.BAD_VERSION
    assert await peer.children("/") == ["a", "zookeeper"]


async def test_a_multi_is_one_transaction(peer: Peer) -> None:
    reply = await peer.ask(
        Op.MULTI,
        multi(
            (Op.CREATE, create("/m")),
            (Op.CREATE2, create("/m/c")),
            (Op.SET_DATA, set_data("/m", b"1", 0)),
            (Op.CHECK, delete("/m", 1)),
            (Op.DELETE, delete("/m/c")),
        ),
    )
    record, types = reply.record, []
    while True:
        type_, ended, error = record.int32(), record.boolean(), record.int32()
        if ended:
            break
        assert error == 0
        types.append(type_)
        if type_ in (Op.CREATE, Op.CREATE2):
            record.text()
        if type_ in (Op.CREATE2, Op.SET_DATA):
            assert Stat.of(record).mzxid == reply.zxid
    assert types == [Op.CREATE, Op.CREATE2, Op.SET_DATA, Op.CHECK, Op.DELETE]
    assert await peer.children("/m") == []


async def test_a_multi_that_fails_writes_nothing_and_says_where(peer: Peer) -> None:
    await peer.ask(Op.CREATE, create("/m"))
    reply = await peer.ask(
        Op.MULTI,
        multi(
            (Op.CREATE, create("/m/n-", flags=SEQUENTIAL)),
            (Op.CHECK, delete("/m", 7)),
            (Op.DELETE, delete("/m")),
        ),
    )
    assert reply.error == 0
    assert reply.body == bytes.fromhex(
        "ffffffff 00 00000000 00000000 ffffffff 00 ffffff99 ffffff99"
        "ffffffff 00 fffffffe fffffffe ffffffff 01 ffffffff"
    )
    # Neither the child nor its number was used.
    made = await peer.ask(Op.CREATE, create("/m/n-", flags=SEQUENTIAL))
    assert made.record.text() == "/m/n-0000000000"


async def test_a_multi_changes_data_of_some_znodes_again_and_again(peer: Peer) -> None:
    for path in ("/a", "/b"):
        await peer.ask(Op.CREATE, create(path))
    await peer.ask(Op.CREATE, create("/b/c"))
    changes = (
        ("/a", b"1", 0),
        ("/b", b"22", -1),
        ("/a", None, 1),
        ("/b", b"", 1),
        ("/a", b"333", 2),
    )
    operations = [(Op.SET_DATA, set_data(*each)) for each in changes]
    made = (Op.CREATE, create("/new", b"0")), (Op.SET_DATA, set_data("/new", b"55555", 0))
    reply = await peer.ask(Op.MULTI, multi(*operations, *made, (Op.DELETE, delete("/new", 1))))
    record, found = reply.record, []
    while True:
        type_, ended, _ = record.int32(), record.boolean(), record.int32()
        if ended:
            break
        if type_ == Op.CREATE:
            record.text()
        if type_ == Op.SET_DATA:
            stat = Stat.of(record)
            assert stat.mzxid == reply.zxid
            found.append((stat.version, stat.length, stat.children))
    assert found == [(1, 1, 0), (1, 2, 1), (2, 0, 0), (2, 0, 1), (3, 3, 0), (1, 5, 0)]
    kept = {path: (await peer.ask(Op.GET_DATA, read(path))).record for path in ("/a", "/b")}
    assert {path: record.buffer() for path, record in kept.items()} == {"/a": b"333", "/b": b""}
    assert {path: Stat.of(record).version for path, record in kept.items()} == {"/a": 3, "/b": 2}
    assert await peer.stat("/new") is None


@pytest.mark.parametrize(
    ("path", "version", "error"),
    [("/a", 1, Error.BAD_VERSION), ("/none", -1, Error.NO_NODE), ("/kept", -1, Error.NO_AUTH)],
)
async def test_one_refused_change_of_data_refuses_its_multi(
    peer: Peer, path: str, version: int, error: Error
) -> None:
    await peer.ask(Op.CREATE, create("/a", b"0"))
    await peer.ask(Op.CREATE, create("/kept", b"0", entries=READ_ONLY))
    changes = [("/a", b"1", 0), ("/a", b"2", 1), (path, b"3", version), ("/a", b"4", -1)]
    refused = await peer.ask(Op.MULTI, multi(*((Op.SET_DATA, set_data(*c)) for c in changes)))
    assert refused.results == [(-1, 0), (-1, 0), (-1, error), (-1, Error.RUNTIME_INCONSISTENCY)]
    assert (await peer.ask(Op.GET_DATA, read("/a"))).record.buffer() == b"0"


async def test_a_multi_that_fails_leaves_deadlines_as_they_are(door: Door, peer: Peer) -> None:
    await peer.ask(Op.CREATE_TTL, create("/t", flags=5) + jute.int64(1_000))
    failed = multi((Op.DELETE, delete("/t")), (Op.CHECK, delete("/none")))
    assert (await peer.ask(Op.MULTI, failed)).results[1] == (-1, Error.NO_NODE)
    await door.node.advance(1_000)
    assert await peer.stat("/t") is None


async def test_reads_that_wait_behind_each_other_are_answered_one_by_one(
    door: Door, peer: Peer
) -> None:
    await peer.ask(Op.CREATE, create("/a", b"1"))
    other = await door.connect()
    asked = [(Op.GET_DATA, read("/a")), (Op.EXISTS, read("/none", watch=True))]
    asked += [(Op.GET_DATA, read("/none", watch=True)), (Op.GET_CHILDREN, read("/"))]
    # More than are read together.
    asked += [(Op.EXISTS, read("/a", watch=True))] * 20 + [(Op.GET_DATA, b""), *asked]
    sent = [other.send(*each) for each in asked]
    replies = [await other.reply() for _ in sent]
    assert [each.xid for each in replies] == sent
    errors = [0, Error.NO_NODE, Error.NO_NODE, 0]
    assert [each.error for each in replies] == [*errors, *[0] * 20, Error.MARSHALLING, *errors]
    assert replies[0].record.buffer() == replies[-4].record.buffer() == b"1"
    await peer.ask(Op.SET_DATA, set_data("/a", b"2"))
    await peer.ask(Op.CREATE, create("/none"))
    assert [(each.type, each.path) for each in (await other.event(), await other.event())] == [
        (3, "/a"),
        (1, "/none"),
    ]


async def test_what_cannot_be_in_a_multi_is_not_decoded(peer: Peer) -> None:
    reply = await peer.ask(Op.MULTI, multi((Op.SET_ACL, b"")))
    assert (reply.error, reply.body) == (Error.MARSHALLING, b"")
    reply = await peer.ask(Op.MULTI, multi((Op.CREATE, create("/x", flags=9))))
    assert reply.error == Error.MARSHALLING
    assert (await peer.ask(Op.MULTI, multi())).body == multi()


async def test_reads_of_a_multi_fail_alone(peer: Peer) -> None:
    await peer.ask(Op.CREATE, create("/a", b"1"))
    reply = await peer.ask(
        Op.MULTI_READ,
        multi((Op.GET_DATA, read("/none")), (Op.GET_CHILDREN, read("/a"))),
    )
    record = reply.record
    assert (record.int32(), record.boolean(), record.int32()) == (-1, False, Error.NO_NODE)
    assert record.int32() == Error.NO_NODE
    assert (record.int32(), record.boolean(), record.int32()) == (Op.GET_CHILDREN, False, 0)


async def test_lists_give_rights_and_hide_hashes(door: Door, peer: Peer) -> None:
    proof = b"ann:secret"
    await peer.ask(Op.AUTH, jute.int32(0) + jute.text("digest") + jute.buffer(proof))
    own = create("/own", b"x", entries=((31, "auth", ""),))
    assert (await peer.ask(Op.CREATE, own)).error == 0
    other = await door.connect()
    assert (await other.ask(Op.GET_DATA, read("/own"))).error == Error.NO_AUTH
    assert (await other.ask(Op.SET_DATA, set_data("/own", b""))).error == Error.NO_AUTH
    assert (await other.ask(Op.CREATE, create("/own/c"))).error == Error.NO_AUTH
    assert (await other.ask(Op.EXISTS, read("/own"))).error == Error.NO_AUTH
    shared = jute.text("/own") + acl((31, "auth", ""), (1, "world", "anyone")) + jute.int32(0)
    assert (await other.ask(Op.SET_ACL, shared)).error == Error.INVALID_ACL
    everybody = jute.text("/own") + acl(*OPEN) + jute.int32(0)
    assert (await other.ask(Op.SET_ACL, everybody)).error == Error.NO_AUTH
    assert (await peer.ask(Op.SET_ACL, shared)).error == 0
    assert (await other.ask(Op.GET_DATA, read("/own"))).error == 0
    digest = base64.b64encode(hashlib.sha1(proof).digest()).decode()
    for who, shown in ((peer, f"ann:{digest}"), (other, "ann:x")):
        record = (await who.ask(Op.GET_ACL, jute.text("/own"))).record
        assert record.int32() == 2
        entries = [(record.int32(), record.text(), record.text()) for _ in range(2)]
        assert entries == [(31, "digest", shown), (1, "world", "anyone")]
    # The right to delete is that of the parent.
    assert (await other.ask(Op.DELETE, delete("/own"))).error == 0


@pytest.mark.parametrize(
    "entry",
    [(31, "world", "all"), (31, "digest", "nocolon"), (31, "ip", "none"), (31, "what", "")],
)
async def test_bad_lists_are_refused(peer: Peer, entry: tuple[int, str, str]) -> None:
    reply = await peer.ask(Op.CREATE, create("/a", entries=(entry,)))
    assert reply.error == Error.INVALID_ACL


async def test_addresses_give_rights(peer: Peer) -> None:
    for network, error in (("127.0.0.0/8", 0), ("10.0.0.0/8", Error.NO_AUTH)):
        path = f"/{error}"
        await peer.ask(Op.CREATE, create(path, entries=((1, "ip", network),)))
        assert (await peer.ask(Op.GET_DATA, read(path))).error == error


async def test_who_am_i_hides_the_hash(peer: Peer) -> None:
    await peer.ask(Op.AUTH, jute.int32(0) + jute.text("digest") + jute.buffer(b"ann:secret"))
    record = (await peer.ask(Op.WHO_AM_I)).record
    who = record.vector(lambda: (record.text(), record.text()))
    assert who == [("ip", "127.0.0.1"), ("digest", "ann")]


async def test_ephemerals_and_descendants_are_counted(peer: Peer) -> None:
    for path, flags in (("/a", 0), ("/a/b", 0), ("/a/b/c", EPHEMERAL), ("/a-b", EPHEMERAL)):
        await peer.ask(Op.CREATE, create(path, flags=flags))
    assert (await peer.ask(Op.COUNT_DESCENDANTS, jute.text("/a"))).record.int32() == 2
    assert (await peer.ask(Op.COUNT_DESCENDANTS, jute.text("/"))).record.int32() == 7
    for prefix, found in (("/", ["/a-b", "/a/b/c"]), ("/a/", ["/a/b/c"]), ("", None)):
        record = (await peer.ask(Op.GET_EPHEMERALS, jute.text(prefix))).record
        assert sorted(record.vector(record.text)) == (found or ["/a-b", "/a/b/c"])


async def test_containers_and_znodes_with_a_time_to_live_are_reaped(door: Door, peer: Peer) -> None:
    await peer.ask(Op.CREATE_CONTAINER, create("/c", flags=4))
    await peer.ask(Op.CREATE_TTL, create("/t", flags=5) + jute.int64(5_000))
    container = await peer.stat("/c")
    assert container is not None
    assert container.owner == 0
    await peer.ask(Op.CREATE, create("/c/child"))
    await peer.ask(Op.CREATE, create("/t/child"))
    session = peer.session
    for _ in range(20):
        await door.node.advance(4_000)
        peer = await door.connect(session, peer.password)
    assert await peer.stat("/c") is not None
    assert await peer.stat("/t") is not None
    await peer.ask(Op.DELETE, delete("/c/child"))
    await peer.ask(Op.DELETE, delete("/t/child"))
    await door.node.advance(4_000)
    assert await peer.stat("/t") is not None
    peer = await door.connect(session, peer.password)
    await door.node.advance(1_000)
    assert await peer.stat("/t") is None
    assert await peer.stat("/c") is not None
    for _ in range(15):
        peer = await door.connect(session, peer.password)
        await door.node.advance(4_000)
    assert await peer.stat("/c") is None


async def test_writes_and_reads_of_a_session_keep_their_order(peer: Peer) -> None:
    sent = []
    for number in range(50):
        sent.append(peer.send(Op.CREATE, create(f"/n{number}")))
        sent.append(peer.send(Op.SET_DATA, set_data(f"/n{number}", b"%d" % number, 0)))
        sent.append(peer.send(Op.GET_DATA, read(f"/n{number}")))
    zxid = 0
    for position, xid in enumerate(sent):
        reply = await peer.reply()
        assert (reply.xid, reply.error) == (xid, 0)
        assert reply.zxid >= zxid
        zxid = reply.zxid
        if position % 3 == 2:
            assert reply.record.buffer() == b"%d" % (position // 3)


async def test_sync_answers_its_path(peer: Peer) -> None:
    made = await peer.ask(Op.CREATE, create("/a"))
    reply = await peer.ask(Op.SYNC, jute.text("/whatever"))
    assert (reply.error, reply.record.text()) == (0, "/whatever")
    assert reply.zxid >= made.zxid


async def set_quota(peer: Peer, path: str, limits: bytes) -> None:
    parent = "/zookeeper/quota"
    for name in path.strip("/").split("/"):
        parent += f"/{name}"
        await peer.ask(Op.CREATE, create(parent))
    await peer.ask(Op.CREATE, create(f"{parent}/zookeeper_limits", limits))
    await peer.ask(Op.CREATE, create(f"{parent}/zookeeper_stats", b"count=0,bytes=0"))


async def usage(peer: Peer, path: str) -> bytes | None:
    reply = await peer.ask(Op.GET_DATA, read(f"/zookeeper/quota{path}/zookeeper_stats"))
    return reply.record.buffer()


async def test_quotas_count_what_is_at_and_below_a_path(peer: Peer) -> None:
    await peer.ask(Op.CREATE, create("/q", b"12"))
    await peer.ask(Op.CREATE, create("/q/a", b"345"))
    await peer.ask(Op.CREATE, create("/q-other", b"345"))
    await set_quota(peer, "/q", b"count=1,bytes=1")
    assert await usage(peer, "/q") == b"count=2,bytes=5"
    # A soft limit refuses nothing.
    await peer.ask(Op.MULTI, multi((Op.CREATE, create("/q/b", b"6")), (Op.DELETE, delete("/q/a"))))
    assert await usage(peer, "/q") == b"count=2,bytes=3"
    await peer.ask(Op.SET_DATA, set_data("/q/b", b"6789"))
    assert await usage(peer, "/q") == b"count=2,bytes=6"
    failed = multi((Op.CREATE, create("/q/c", b"0")), (Op.CHECK, delete("/none")))
    await peer.ask(Op.MULTI, failed)
    assert await usage(peer, "/q") == b"count=2,bytes=6"
    changes = (("/q", b"1"), ("/q/b", b"12"), ("/q", b"123"), ("/q/b", None), ("/q", b"1234"))
    await peer.ask(Op.MULTI, multi(*((Op.SET_DATA, set_data(*each)) for each in changes)))
    assert await usage(peer, "/q") == b"count=2,bytes=4"
    await peer.ask(Op.DELETE, delete("/zookeeper/quota/q/zookeeper_limits"))
    await peer.ask(Op.DELETE, delete("/q/b"))
    assert await usage(peer, "/q") == b"count=2,bytes=4"


async def test_hard_limits_are_kept_where_they_are_enforced(
    open_door: Callable[..., Awaitable[Door]],
) -> None:
    for enforced in (False, True):
        door = await open_door(enforce_quotas=enforced)
        peer = await door.connect()
        await peer.ask(Op.CREATE, create("/q"))
        hard = b"count=-1,bytes=-1=;byteHardLimit=4;countHardLimit=2"
        await set_quota(peer, "/q", hard)
        refused = Error.QUOTA_EXCEEDED if enforced else 0
        assert (await peer.ask(Op.CREATE, create("/q/a", b"1234"))).error == 0
        assert (await peer.ask(Op.CREATE, create("/q/b"))).error == refused
        assert (await peer.ask(Op.SET_DATA, set_data("/q/a", b"12345"))).error == refused
        # It counts what each change makes of it, not what the multi does.
        changes = [(Op.SET_DATA, set_data("/q/a", data)) for data in (b"1", b"12345", b"1")]
        changed = await peer.ask(Op.MULTI, multi(*changes))
        if enforced:
            errors = [0, refused, Error.RUNTIME_INCONSISTENCY]
            assert changed.results == [(-1, error) for error in errors]
        else:
            assert changed.record.int32() == Op.SET_DATA
        assert (await peer.ask(Op.SET_DATA, set_data("/q/a", b"1"))).error == 0


async def make_children(peer: Peer, path: str, names: Sequence[str]) -> None:
    await peer.ask(Op.CREATE, create(path))
    creates = [(Op.CREATE, create(f"{path}/{name}")) for name in names]
    for start in range(0, len(creates), 200):
        reply = await peer.ask(Op.MULTI, multi(*creates[start : start + 200]))
        assert reply.error == 0


async def test_a_list_of_several_pages_is_read_from_one_state(
    peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "_PAGE_BYTES", 6_000)
    names = [f"{number:04d}" for number in range(2_500)]
    await make_children(peer, "/a", names)
    assert await peer.children("/a") == names
    record = (await peer.ask(Op.GET_CHILDREN2, read("/a", watch=True))).record
    assert record.vector(record.text) == names
    assert Stat.of(record) == await peer.stat("/a")
    # The watch of the list is that of its last page.
    await peer.ask(Op.DELETE, delete("/a/0000"))
    assert [each.path for each in peer.seen if isinstance(each, Event)] == ["/a"]


@pytest.mark.parametrize("begun", [1, 100])
async def test_a_list_whose_children_change_between_pages_is_read_anew(
    door: Door, peer: Peer, monkeypatch: pytest.MonkeyPatch, begun: int
) -> None:
    """Up to a bound: a client is told then, and not hung up on."""
    monkeypatch.setattr(reading, "_PAGE_BYTES", 6_000)
    names = [f"{number:04d}" for number in range(1_500)]
    await make_children(peer, "/a", names)
    other = await door.connect()
    left, find = [begun], reading.find

    async def disturbed(connection: Any, lookups: Sequence[pb.Lookup]) -> pb.Found:
        if lookups[0].after and left[0]:
            left[0] -= 1
            await other.ask(Op.CREATE, create(f"/a/x{left[0]}"))
        return await find(connection, lookups)

    monkeypatch.setattr(reading, "find", disturbed)
    reply = await peer.ask(Op.GET_CHILDREN, read("/a"))
    if begun == 1:
        record = reply.record
        assert sorted(record.vector(record.text)) == [*names, "x0"]
    else:
        assert reply.error == Error.SYSTEM
        assert await peer.stat("/a") is not None


async def test_what_is_larger_than_a_reply_may_be_is_refused_alone(
    open_door: Callable[..., Awaitable[Door]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "_PAGE_BYTES", 1 << 18)
    door = await open_door(reply_bytes=1_048_575)
    peer = await door.connect()
    await make_children(peer, "/a", [f"{number:04d}" + "x" * 2_000 for number in range(600)])
    for op in (Op.GET_CHILDREN, Op.GET_CHILDREN2):
        assert (await peer.ask(op, read("/a", watch=True))).error == Error.MARSHALLING
    await peer.ask(Op.CREATE, create("/a/b"))
    assert not [each for each in peer.seen if isinstance(each, Event)]
    await peer.ask(Op.CREATE, create("/data", bytes(600_000)))
    reads = [
        (Op.GET_DATA, read("/data")),
        (Op.GET_DATA, read("/data")),
        (Op.GET_CHILDREN, read("/")),
    ]
    record = (await peer.ask(Op.MULTI_READ, multi(*reads))).record
    assert (record.int32(), record.boolean(), record.int32()) == (Op.GET_DATA, False, 0)
    assert record.buffer() == bytes(600_000)
    Stat.of(record)
    # What no room is left for.
    codes = [(record.int32(), record.boolean(), record.int32(), record.int32()) for _ in range(2)]
    assert codes == [(-1, False, Error.MARSHALLING, Error.MARSHALLING)] * 2


@pytest.mark.ci
async def test_reads_that_do_not_fit_into_one_answer_are_read_in_several(peer: Peer) -> None:
    await peer.ask(Op.CREATE, create("/data", bytes(1_000_000)))
    sent = [peer.send(Op.GET_DATA, read("/data")) for _ in range(40)]
    replies = [await peer.reply() for _ in sent]
    assert [each.xid for each in replies] == sent
    assert {(each.error, len(each.body)) for each in replies} == {(0, 1_000_072)}


async def test_a_long_list_of_rights_is_refused(peer: Peer) -> None:
    long = [(1, "x509", f"CN={number:04d}" + "x" * 100) for number in range(200)]
    reply = await peer.ask(Op.CREATE, create("/a", entries=long))
    assert reply.error == Error.INVALID_ACL
    assert (await peer.ask(Op.CREATE, create("/a", entries=long[:100]))).error == 0


async def test_a_long_path_is_refused(peer: Peer) -> None:
    assert (await peer.ask(Op.CREATE, create("/" + "a" * 4_096))).error == Error.BAD_ARGUMENTS
    assert (await peer.ask(Op.CREATE, create("/" + "a" * 4_095))).error == 0


async def test_a_multi_that_publishes_too_much_is_refused(peer: Peer) -> None:
    """Each change is published with the lists of the znode and of its parent."""
    rights = [(31, "ip", "127.0.0.1"), (1, "x509", "CN=" + "x" * 15_000)]
    await peer.ask(Op.CREATE, create("/a", entries=rights))
    creates = [(Op.CREATE, create(f"/a/{number}")) for number in range(1_200)]
    results = (await peer.ask(Op.MULTI, multi(*creates))).results
    assert (len(results), min(code for _, code in results)) == (1_200, Error.MARSHALLING)
    changes = [(Op.SET_DATA, set_data("/a", b""))] * 1_200
    results = (await peer.ask(Op.MULTI, multi(*changes))).results
    assert (len(results), results[-1][1]) == (1_200, Error.MARSHALLING)
    assert await peer.children("/a") == []
    assert (await peer.ask(Op.MULTI, multi(*creates[:100]))).error == 0


async def test_descendants_are_counted_in_pages(
    peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nodes, "_AT_A_TIME", 3)
    for path in ("/a", "/a/b", "/a/b/c", "/a/b/c/d", "/a/b2", "/a!", "/ab", "/ab/c"):
        await peer.ask(Op.CREATE, create(path))
    for path, count in (("/", 11), ("/a", 4), ("/a/b", 2), ("/a!", 0), ("/zookeeper", 2)):
        reply = await peer.ask(Op.COUNT_DESCENDANTS, jute.text(path))
        assert (path, reply.record.int32()) == (path, count)
