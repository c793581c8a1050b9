"""What watchers hear, when, and in which order."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
from quorate_zookeeper.tree import changing
from quorate_zookeeper.wire import jute
from quorate_zookeeper.wire.codes import Error, Op

from tests.support.zookeeper.peers import (
    EPHEMERAL,
    Door,
    Event,
    Peer,
    create,
    delete,
    multi,
    read,
    set_data,
)

CREATED, DELETED, DATA, CHILDREN = 1, 2, 3, 4
PERSISTENT, RECURSIVE = 0, 1


def events(peer: Peer) -> list[tuple[int, str]]:
    """Return the events that a peer has seen."""
    return [(each.type, each.path) for each in peer.seen if isinstance(each, Event)]


async def watch(peer: Peer, path: str, mode: int) -> None:
    reply = await peer.ask(Op.ADD_WATCH, jute.text(path) + jute.int32(mode))
    assert (reply.error, reply.record.int32()) == (0, 0)


async def test_an_event_comes_before_the_reply_that_shows_it(door: Door, peer: Peer) -> None:
    """Also before that of its writer; one that was set on two ways comes once, and no more."""
    await peer.ask(Op.CREATE, create("/a"))
    await peer.ask(Op.GET_DATA, read("/a", watch=True))
    await peer.ask(Op.EXISTS, read("/a", watch=True))
    xid = peer.send(Op.SET_DATA, set_data("/a", b"1"))
    event = await peer.event()
    reply = await peer.reply()
    assert (event.type, event.path, event.zxid) == (DATA, "/a", reply.zxid)
    assert reply.xid == xid
    await peer.ask(Op.SET_DATA, set_data("/a", b"2"))
    assert events(peer) == [(DATA, "/a")]


async def test_a_watcher_sees_the_event_before_the_new_data(door: Door, peer: Peer) -> None:
    writer = await door.connect()
    await writer.ask(Op.CREATE, create("/a", b"0"))
    await peer.ask(Op.GET_DATA, read("/a", watch=True))
    for number in range(1, 50):
        writer.send(Op.SET_DATA, set_data("/a", b"%d" % number))
        peer.send(Op.GET_DATA, read("/a", watch=True))
    seen = b"0"
    replies = 0
    while replies < 49:
        found = await peer.next()
        if isinstance(found, Event):
            seen = b""
            continue
        replies += 1
        data = found.record.buffer() or b""
        assert seen in (b"", data), "data changed and no event came before it"
        seen = data


async def test_absent_znodes_are_watched_by_exists_alone(peer: Peer) -> None:
    for op in (Op.EXISTS, Op.GET_DATA, Op.GET_CHILDREN2):
        assert (await peer.ask(op, read("/a", watch=True))).error == Error.NO_NODE
    await peer.ask(Op.CREATE, create("/a"))
    assert events(peer) == [(CREATED, "/a")]


async def test_a_deletion_is_told_once_and_to_those_who_watch_the_parent(peer: Peer) -> None:
    await peer.ask(Op.CREATE, create("/a"))
    await peer.ask(Op.GET_DATA, read("/a", watch=True))
    await peer.ask(Op.GET_CHILDREN, read("/a", watch=True))
    await peer.ask(Op.GET_CHILDREN, read("/", watch=True))
    await peer.ask(Op.DELETE, delete("/a"))
    assert events(peer) == [(DELETED, "/a"), (CHILDREN, "/")]


async def test_events_of_a_multi_come_in_its_order_with_one_zxid(peer: Peer) -> None:
    await watch(peer, "/", RECURSIVE)
    reply = await peer.ask(
        Op.MULTI,
        multi(
            (Op.CREATE, create("/a")),
            (Op.SET_DATA, set_data("/a", b"1")),
            (Op.CREATE, create("/a/b")),
            (Op.DELETE, delete("/a/b")),
        ),
    )
    assert events(peer) == [(CREATED, "/a"), (DATA, "/a"), (CREATED, "/a/b"), (DELETED, "/a/b")]
    assert {each.zxid for each in peer.seen if isinstance(each, Event)} == {reply.zxid}


async def test_all_events_of_a_large_multi_come_before_its_reply(
    peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changing, "_AT_A_TIME", 3)
    await watch(peer, "/", RECURSIVE)
    paths = [f"/n{number}" for number in range(9)]
    reply = await peer.ask(Op.MULTI, multi(*((Op.CREATE, create(path)) for path in paths)))
    assert events(peer) == [(CREATED, path) for path in paths]
    assert {each.zxid for each in peer.seen if isinstance(each, Event)} == {reply.zxid}


async def test_persistent_watches_stay(peer: Peer) -> None:
    await watch(peer, "/a", PERSISTENT)
    for _ in range(2):
        await peer.ask(Op.CREATE, create("/a"))
        await peer.ask(Op.CREATE, create("/a/b"))
        await peer.ask(Op.SET_DATA, set_data("/a/b", b""))
        await peer.ask(Op.DELETE, delete("/a/b"))
        await peer.ask(Op.DELETE, delete("/a"))
    assert events(peer) == 2 * [
        (CREATED, "/a"),
        (CHILDREN, "/a"),
        (CHILDREN, "/a"),
        (DELETED, "/a"),
    ]


async def test_kinds_of_one_path_stand_beside_each_other_and_tell_once(peer: Peer) -> None:
    await peer.ask(Op.CREATE, create("/a"))
    await watch(peer, "/a", PERSISTENT)
    await watch(peer, "/a", RECURSIVE)
    await peer.ask(Op.GET_DATA, read("/a", watch=True))
    await peer.ask(Op.SET_DATA, set_data("/a", b"1"))
    await peer.ask(Op.SET_DATA, set_data("/a", b"2"))
    assert events(peer) == [(DATA, "/a"), (DATA, "/a")]


async def test_watches_are_checked_and_removed_by_kind(peer: Peer) -> None:
    async def ask(op: Op, type_: int) -> int:
        return (await peer.ask(op, jute.text("/a") + jute.int32(type_))).error

    await peer.ask(Op.CREATE, create("/a"))
    await peer.ask(Op.GET_DATA, read("/a", watch=True))
    await watch(peer, "/a", RECURSIVE)
    assert await ask(Op.CHECK_WATCHES, 1) == Error.NO_WATCHER
    assert await ask(Op.CHECK_WATCHES, 2) == 0
    assert await ask(Op.REMOVE_WATCHES, 2) == 0
    assert await ask(Op.CHECK_WATCHES, 2) == Error.NO_WATCHER
    assert await ask(Op.CHECK_WATCHES, 5) == 0
    assert await ask(Op.REMOVE_WATCHES, 3) == 0
    assert await ask(Op.REMOVE_WATCHES, 3) == Error.NO_WATCHER
    assert await ask(Op.CHECK_WATCHES, 9) == Error.MARSHALLING
    await peer.ask(Op.SET_DATA, set_data("/a", b""))
    assert events(peer) == []


async def test_who_may_not_read_hears_nothing_and_loses_the_watch(door: Door, peer: Peer) -> None:
    other = await door.connect()
    await other.ask(Op.EXISTS, read("/own", watch=True))
    await peer.ask(Op.AUTH, jute.int32(0) + jute.text("digest") + jute.buffer(b"ann:secret"))
    await peer.ask(Op.EXISTS, read("/own", watch=True))
    await peer.ask(Op.CREATE, create("/own", entries=((31, "auth", ""),)))
    assert events(peer) == [(CREATED, "/own")]
    await peer.ask(Op.DELETE, delete("/own"))
    await peer.ask(Op.CREATE, create("/own"))
    await other.ask(Op.SYNC, jute.text("/"))
    assert events(other) == []


async def test_watches_set_again_tell_what_was_missed(peer: Peer) -> None:
    zxid = (await peer.ask(Op.CREATE, create("/same"))).zxid
    await peer.ask(Op.CREATE, create("/changed"))
    await peer.ask(Op.CREATE, create("/parent"))
    zxid = (await peer.ask(Op.SET_DATA, set_data("/same", b"0"))).zxid
    await peer.ask(Op.SET_DATA, set_data("/changed", b"1"))
    await peer.ask(Op.CREATE, create("/parent/child"))

    def paths(*found: str) -> bytes:
        return jute.vector(map(jute.text, found))

    peer.send(
        Op.SET_WATCHES2,
        jute.int64(zxid)
        + paths("/same", "/changed", "/gone")
        + paths("/parent", "/absent")
        + paths("/parent", "/gone", "/same")
        + paths("/standing")
        + paths("/below"),
    )
    assert (await peer.reply()).error == 0
    missed = [
        (DATA, "/changed"),
        (DELETED, "/gone"),
        (CREATED, "/parent"),
        (CHILDREN, "/parent"),
        (DELETED, "/gone"),
    ]
    assert events(peer) == missed
    assert {each.zxid for each in peer.seen if isinstance(each, Event)} == {-1}
    await peer.ask(Op.SET_DATA, set_data("/same", b"2"))
    await peer.ask(Op.CREATE, create("/absent"))
    await peer.ask(Op.CREATE, create("/standing"))
    await peer.ask(Op.CREATE, create("/below"))
    await peer.ask(Op.CREATE, create("/below/child"))
    assert events(peer)[len(missed) :] == [
        (DATA, "/same"),
        (CREATED, "/absent"),
        (CREATED, "/standing"),
        (CREATED, "/below"),
        (CREATED, "/below/child"),
    ]


async def test_watches_come_to_so_much_and_no_more(
    open_door: Callable[..., Awaitable[Door]],
) -> None:
    door = await open_door(watch_bytes=1 << 20)
    peer = await door.connect()
    path = "/" + "a" * 32_000
    set_ones = [await peer.ask(Op.EXISTS, read(f"{path}{n}", watch=True)) for n in range(5)]
    assert [each.error for each in set_ones] == [Error.NO_NODE] * 4 + [Error.SYSTEM]
    # One that is there needs no more, and others have theirs.
    again = await peer.ask(Op.EXISTS, read(f"{path}0", watch=True))
    assert again.error == Error.NO_NODE
    mode = jute.text(path) + jute.int32(0)
    assert (await peer.ask(Op.ADD_WATCH, mode)).error == Error.SYSTEM
    none = jute.vector([])
    standing = jute.vector([jute.text(path)])
    peer.send(Op.SET_WATCHES, jute.int64(0) + none + standing + none)
    assert (await peer.reply()).error == Error.SYSTEM
    other = await door.connect()
    assert (await other.ask(Op.ADD_WATCH, mode)).error == 0
    # What was removed makes room.
    removed = jute.text(f"{path}0") + jute.int32(3)
    assert (await peer.ask(Op.REMOVE_WATCHES, removed)).error == 0
    assert (await peer.ask(Op.ADD_WATCH, mode)).error == 0


async def test_the_end_of_a_session_is_one_transaction(door: Door, peer: Peer) -> None:
    owner = await door.connect()
    for name in ("a", "b", "c"):
        await owner.ask(Op.CREATE, create(f"/{name}", flags=EPHEMERAL))
    await watch(peer, "/", RECURSIVE)
    await owner.ask(Op.CLOSE)
    await peer.ask(Op.SYNC, jute.text("/"))
    assert sorted(events(peer)) == [(DELETED, "/a"), (DELETED, "/b"), (DELETED, "/c")]
    assert len({each.zxid for each in peer.seen if isinstance(each, Event)}) == 1


async def test_a_connection_takes_its_watches_with_it(door: Door, peer: Peer) -> None:
    await peer.ask(Op.EXISTS, read("/a", watch=True))
    again = await door.connect(peer.session, peer.password)
    assert again.session == peer.session
    assert await peer.is_closed()
    await again.ask(Op.CREATE, create("/a"))
    assert events(again) == []
