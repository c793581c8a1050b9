"""Sessions: opened, moved, kept, expired and closed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import NoReturn

import pytest
from quorate.plugin import Rejected
from quorate_zookeeper.sessions import apply
from quorate_zookeeper.v1 import commands_pb2 as pb, queries_pb2 as asked
from quorate_zookeeper.wire.codes import Error, Op

from tests.support.zookeeper.peers import (
    EPHEMERAL,
    Door,
    Peer,
    create,
    delete,
    multi,
    read,
    set_data,
)


async def test_timeouts_are_negotiated(door: Door) -> None:
    for asked_for, given in ((0, 4_000), (-5, 4_000), (9_000, 9_000), (90_000, 40_000)):
        assert (await door.connect(timeout_ms=asked_for)).timeout_ms == given


async def test_a_session_moves_with_its_password(door: Door, peer: Peer) -> None:
    await peer.ask(Op.CREATE, create("/e", flags=EPHEMERAL))
    again = await door.connect(peer.session, peer.password, timeout_ms=12_000)
    assert (again.session, again.password) == (peer.session, peer.password)
    assert again.timeout_ms == 12_000
    assert await peer.is_closed()
    stat = await again.stat("/e")
    assert stat is not None
    assert stat.owner == peer.session


async def test_a_wrong_password_ends_nothing_but_its_own_connection(door: Door, peer: Peer) -> None:
    thief = await door.connect(peer.session, b"x" * 16)
    assert (thief.session, thief.timeout_ms, thief.password) == (0, 0, bytes(16))
    assert await thief.is_closed()
    assert (await peer.ask(Op.CREATE, create("/a"))).error == 0


async def test_an_unknown_session_has_ended(door: Door) -> None:
    assert (await door.connect(12_345, bytes(16))).session == 0


async def test_an_earlier_connection_writes_no_more(door: Door, peer: Peer) -> None:
    """Also where the server that it has does not know yet."""
    command = pb.Transact(session=peer.session, connection=peer.session - 1)
    with pytest.raises(Rejected, match="SESSION_MOVED"):
        await door.node.propose(command, pb.Transacted)


async def test_a_silent_session_ends_with_its_ephemerals(door: Door, peer: Peer) -> None:
    other = await door.connect(timeout_ms=40_000)
    await peer.ask(Op.CREATE, create("/e", flags=EPHEMERAL))
    await door.node.advance(9_999)
    assert await other.stat("/e") is not None
    await door.node.advance(1)
    assert await other.stat("/e") is None
    assert await peer.is_closed()
    assert (await door.connect(peer.session, peer.password)).session == 0


@pytest.mark.parametrize("bound", [("MOST_EPHEMERALS", 3), ("ENOUGH_BYTES", 20)])
async def test_very_many_ephemerals_go_in_several_transactions(
    door: Door, peer: Peer, monkeypatch: pytest.MonkeyPatch, bound: tuple[str, int]
) -> None:
    """Those who had the session cannot have it back meanwhile."""
    monkeypatch.setattr(apply, *bound)
    owner, other = await door.connect(), await door.connect()
    for number in range(7):
        await owner.ask(Op.CREATE, create(f"/e{number}", flags=EPHEMERAL))
    await other.ask(Op.CREATE, create("/other", flags=EPHEMERAL))
    await owner.ask(Op.CLOSE)
    assert len(await peer.children("/")) == 6
    assert (await door.connect(owner.session, owner.password)).session == 0
    await door.node.advance(1)
    assert len(await peer.children("/")) == 3
    await door.node.advance(1)
    assert await peer.children("/") == ["other", "zookeeper"]
    figures = await door.node.read(asked.CountTree(), asked.Figures)
    assert figures.rows[0].sessions == 2


async def test_what_is_heard_of_a_client_renews_its_session(
    open_door: Callable[..., Awaitable[Door]],
) -> None:
    door = await open_door(min_session_timeout_ms=120)
    peer = await door.connect(timeout_ms=120)
    while not any(isinstance(each, pb.RenewSessions) for each in door.node.proposals):
        peer.send(Op.PING, xid=-2)
        assert (await peer.reply()).xid == -2
        await asyncio.sleep(0.005)


async def test_clients_whose_sessions_cannot_be_renewed_are_sent_away(
    open_door: Callable[..., Awaitable[Door]],
) -> None:
    """Where this node has no majority, another one may let the session end."""
    door = await open_door(min_session_timeout_ms=240)
    peer = await door.connect(timeout_ms=240)

    async def refused(*_: object, **__: object) -> None:
        raise Rejected("UNAVAILABLE", "no leader is known")

    door.node.propose = refused  # type: ignore[method-assign, assignment]

    async def ping() -> None:
        while True:
            peer.send(Op.PING, xid=-2)
            await asyncio.sleep(0.02)

    pinging = asyncio.create_task(ping())
    async with asyncio.timeout(10):
        with suppress(ConnectionResetError):
            await peer.reader.read()
    pinging.cancel()


async def test_close_is_the_last_reply(door: Door, peer: Peer) -> None:
    await peer.ask(Op.CREATE, create("/e", flags=EPHEMERAL))
    await peer.ask(Op.EXISTS, read("/e", watch=True))
    peer.send(Op.CLOSE)
    peer.send(Op.EXISTS, read("/"))
    assert (await peer.event()).path == "/e"
    assert (await peer.reply()).error == 0
    assert await peer.is_closed()
    assert (await door.connect(peer.session, peer.password)).session == 0


async def test_requests_of_a_session_that_has_ended_say_so(door: Door, peer: Peer) -> None:
    """Where the server does not know yet that it has."""

    def ended(*_: object, **__: object) -> NoReturn:
        raise Rejected("SESSION_ENDED", "it has ended")

    for shard in door.node.replicas.values():
        shard.propose = ended  # type: ignore[method-assign]
    assert (await peer.ask(Op.CREATE, create("/a"))).error == Error.SESSION_EXPIRED
    assert await peer.is_closed()


async def test_a_client_that_has_seen_more_is_sent_away(door: Door, peer: Peer) -> None:
    made = await peer.ask(Op.CREATE, create("/a"))
    assert (await door.connect(last_zxid=made.zxid)).session
    ahead = await door.raw()
    ahead.writer.write(
        b"\x00\x00\x00\x2d"
        + bytes(4)
        + (made.zxid + 1).to_bytes(8)
        + (10_000).to_bytes(4)
        + bytes(8)
        + b"\x00\x00\x00\x10"
        + bytes(17)
    )
    assert await ahead.is_closed()


async def test_one_of_two_brokers_becomes_the_controller(door: Door, peer: Peer) -> None:
    """As Kafka elects: the election and its epoch are one multi, and later writes check the epoch.
    A broker's znode and its data are one multi, too, whose zxid is the epoch of the broker."""
    other = await door.connect()
    await peer.ask(Op.CREATE, create("/controller_epoch", b"0"))
    election = multi(
        (Op.CREATE, create("/controller", b"1", flags=EPHEMERAL)),
        (Op.SET_DATA, set_data("/controller_epoch", b"1", 0)),
    )
    both = await asyncio.gather(peer.ask(Op.MULTI, election), other.ask(Op.MULTI, election))
    [lost] = [each for each in both if each.record.int32() == -1]
    assert lost.results == [(-1, Error.NODE_EXISTS), (-1, Error.RUNTIME_INCONSISTENCY)]
    fenced = multi((Op.CHECK, delete("/controller_epoch", 0)), (Op.CREATE, create("/x")))
    reply = await other.ask(Op.MULTI, fenced)
    assert reply.results == [(-1, Error.BAD_VERSION), (-1, Error.RUNTIME_INCONSISTENCY)]
    epochs: list[int] = []
    for client in (peer, other):
        path = f"/broker-{len(epochs)}"
        registration = (Op.CREATE, create(path, None, flags=EPHEMERAL))
        await client.ask(Op.MULTI, multi(registration, (Op.SET_DATA, set_data(path, b"{}", 0))))
        stat = await client.stat(path)
        assert stat is not None
        assert stat.czxid == stat.mzxid
        epochs.append(stat.czxid)
    assert epochs[0] < epochs[1]


async def test_a_controller_that_was_frozen_finds_nothing_of_its_own(door: Door) -> None:
    """Its ephemeral znodes have gone when it hears that its session has ended."""
    frozen, other = await door.connect(), await door.connect(timeout_ms=40_000)
    await frozen.ask(Op.CREATE, create("/controller", flags=EPHEMERAL))
    await other.ask(Op.EXISTS, read("/controller", watch=True))
    await door.node.advance(10_000)
    assert (await other.event()).path == "/controller"
    assert (await door.connect(frozen.session, frozen.password)).session == 0
    again = await door.connect()
    assert (await again.ask(Op.CREATE, create("/controller", flags=EPHEMERAL))).error == 0
