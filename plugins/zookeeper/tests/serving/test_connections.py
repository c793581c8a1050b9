"""What a connection may send, and what becomes of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest
from hypothesis import given, strategies as st
from quorate.plugin import Access
from quorate.plugin.advanced import OrderedCommands
from quorate.testing.node import MemoryNode
from quorate_zookeeper.config import ZooKeeperConfig
from quorate_zookeeper.serving.counts import Counts
from quorate_zookeeper.serving.identities import MOST_IDENTITIES, PROOF_BYTES
from quorate_zookeeper.wire import jute, requests
from quorate_zookeeper.wire.codes import WRITES, Error, Op
from quorate_zookeeper.wire.jute import Record, ShortRecordError
from quorate_zookeeper.wire.requests import UndecodableError

from tests.support.zookeeper.peers import Door, Peer, create, delete, multi, read, set_data

#: What exporters of Prometheus, Telegraf and Datadog read of `mntr`, but for what a leader has.
READ_BY_EXPORTERS = {
    "zk_version",
    "zk_server_state",
    "zk_uptime",
    "zk_min_latency",
    "zk_avg_latency",
    "zk_max_latency",
    "zk_packets_received",
    "zk_packets_sent",
    "zk_num_alive_connections",
    "zk_outstanding_requests",
    "zk_znode_count",
    "zk_watch_count",
    "zk_ephemerals_count",
    "zk_approximate_data_size",
    "zk_open_file_descriptor_count",
    "zk_max_file_descriptor_count",
    "zk_global_sessions",
    "zk_local_sessions",
    "zk_connection_drop_count",
    "zk_connection_rejected",
    "zk_auth_failed_count",
}
Opening = Callable[..., Awaitable[Door]]


async def ask_word(door: Door, word: bytes) -> str:
    peer = await door.raw()
    peer.writer.write(word)
    async with asyncio.timeout(10):
        return (await peer.reader.read()).decode()


@pytest.mark.parametrize("length", [0, -1, 1_048_576, 0x7FFFFFFF])
async def test_a_bad_length_ends_the_connection(peer: Peer, length: int) -> None:
    peer.writer.write(length.to_bytes(4, signed=True) + bytes(8))
    assert await peer.is_closed()


async def test_the_largest_request_is_served(open_door: Opening) -> None:
    door = await open_door(request_bytes=4_096)
    peer = await door.connect()
    room = 4_096 - 8 - len(create("/a", b""))
    assert (await peer.ask(Op.CREATE, create("/a", bytes(room)))).error == 0
    peer.send(Op.CREATE, create("/b", bytes(room + 1)))
    assert await peer.is_closed()


async def test_large_writes_are_taken_up_as_room_is_made(peer: Peer) -> None:
    """More than a connection may have in flight, all of which is answered in order."""
    await peer.ask(Op.CREATE, create("/a"))
    sent = [peer.send(Op.SET_DATA, set_data("/a", bytes(900_000))) for _ in range(16)]
    sent.append(peer.send(Op.EXISTS, read("/a")))
    assert [(await peer.reply()).xid for _ in sent] == sent


async def test_a_body_that_ends_early_is_refused_alone(peer: Peer) -> None:
    assert (await peer.ask(Op.CREATE, create("/a")[:-1])).error == Error.MARSHALLING
    assert (await peer.ask(Op.GET_DATA, b"")).error == Error.MARSHALLING
    assert (await peer.ask(Op.EXISTS, read("/") + b"more")).error == 0


@pytest.mark.parametrize("op", [Op.CHECK, 99, -10, 20])
async def test_an_unknown_operation_ends_the_connection(peer: Peer, op: int) -> None:
    reply = await peer.ask(op, jute.text("/") + jute.int32(0))
    assert (reply.error, reply.zxid) == (Error.UNIMPLEMENTED, -1)
    assert await peer.is_closed()


async def test_an_unknown_scheme_ends_the_connection(peer: Peer) -> None:
    proof = jute.int32(0) + jute.text("world") + jute.buffer(b"anyone")
    peer.send(Op.AUTH, proof, xid=-4)
    reply = await peer.reply()
    assert (reply.xid, reply.zxid, reply.error) == (-4, 0, Error.AUTH_FAILED)
    assert await peer.is_closed()


def proof(text: bytes) -> bytes:
    return jute.int32(0) + jute.text("digest") + jute.buffer(text)


async def test_a_connection_proves_so_many_identities_and_no_more(peer: Peer) -> None:
    # One is its address. To prove one again adds none.
    for number in (*range(MOST_IDENTITIES - 1), 0):
        assert (await peer.ask(Op.AUTH, proof(b"user%d:secret" % number))).error == 0
    assert (await peer.ask(Op.AUTH, proof(b"another:secret"))).error == Error.AUTH_FAILED
    assert await peer.is_closed()


async def test_a_long_proof_is_refused(peer: Peer) -> None:
    assert (await peer.ask(Op.AUTH, proof(bytes(PROOF_BYTES)))).error == 0
    assert (await peer.ask(Op.AUTH, proof(bytes(PROOF_BYTES + 1)))).error == Error.AUTH_FAILED
    assert await peer.is_closed()


async def test_sasl_is_refused(peer: Peer) -> None:
    assert (await peer.ask(Op.SASL, jute.buffer(b""))).error == Error.AUTH_FAILED
    assert await peer.is_closed()


async def test_old_clients_hear_nothing_of_servers_that_only_read(door: Door) -> None:
    peer = await door.raw()
    opening = jute.int32(0) + bytes(8) + jute.int32(9_000) + bytes(8) + jute.buffer(bytes(16))
    peer.writer.write(jute.buffer(opening))
    assert len(await peer.frame()) == 36


async def test_clients_whose_user_lost_its_right_are_closed(
    door: Door, peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def allows(_: object, user: str, access: Access, request: object = None) -> bool:
        asked.append(f"{user!r}: {access.right} on {access.domain}")
        return False

    monkeypatch.setattr(MemoryNode, "allows", allows)
    peer.send(Op.EXISTS, read("/"))
    assert await peer.is_closed()
    stranger = await door.raw()
    opening = jute.int32(0) + bytes(8) + jute.int32(9_000) + bytes(8) + jute.buffer(bytes(16))
    stranger.writer.write(jute.buffer(opening))
    assert await stranger.is_closed()
    assert set(asked) == {"'': write on zookeeper"}


async def test_writes_are_those_of_whom_a_client_proves_to_be(
    open_door: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    ordered = MemoryNode.ordered

    def noted(node: MemoryNode) -> OrderedCommands:
        seen.append(node.caller().name)
        assert node.caller().address.startswith("127.0.0.1:")
        return ordered(node)

    monkeypatch.setattr(MemoryNode, "ordered", noted)
    door = await open_door(user="door")
    peer = await door.connect()
    peer.send(Op.CREATE, create("/a"))
    for name in (b"ann" * 100, b"ben"):
        peer.send(Op.AUTH, jute.int32(0) + jute.text("digest") + jute.buffer(name + b":secret"))
        peer.send(Op.CREATE, create("/" + name.decode()))
    assert [(await peer.reply()).error for _ in range(5)] == [0] * 5

    assert seen == ["door", "digest:" + ("ann" * 100)[:64]]


async def test_connections_are_bounded(open_door: Opening) -> None:
    door = await open_door(connections_per_host=1)
    peer = await door.connect()
    assert await (await door.raw()).is_closed()
    assert (await peer.ask(Op.EXISTS, read("/"))).error == 0


async def test_the_oldest_connection_without_a_session_makes_room(open_door: Opening) -> None:
    door = await open_door(connections=3)
    peer = await door.connect()
    silent = [await door.raw() for _ in range(2)]
    others = []
    for oldest in silent:
        others.append(await door.connect())
        assert await oldest.is_closed()
    assert await (await door.raw()).is_closed()
    for each in (peer, *others):
        assert (await each.ask(Op.EXISTS, read("/"))).error == 0


async def test_words_are_answered(door: Door, peer: Peer) -> None:
    await peer.ask(Op.CREATE, create("/a"))
    await peer.ask(Op.GET_DATA, read("/a", watch=True))
    assert await ask_word(door, b"ruok") == "imok"
    assert await ask_word(door, b"isro") == "rw"
    for word in (b"srvr", b"stat"):
        answer = await ask_word(door, word)
        assert answer.startswith("Zookeeper version: 3.9")
        assert "Connections: 2\n" in answer
    assert "zookeeper.version=3.9" in await ask_word(door, b"envi")
    assert "maxSessionTimeout=40000\n" in await ask_word(door, b"conf")
    figures = dict(line.split("\t") for line in (await ask_word(door, b"mntr")).splitlines())
    assert (figures["zk_watch_count"], figures["zk_global_sessions"]) == ("1", "1")
    assert set(figures) >= READ_BY_EXPORTERS
    assert "Total watches:1\n" in await ask_word(door, b"wchs")
    assert "not in the whitelist" in await ask_word(door, b"wchp")


async def figures_of(door: Door) -> dict[str, float]:
    lines = [line.split("\t") for line in (await ask_word(door, b"mntr")).splitlines()]
    return {name: float(value) for name, value in lines if value.replace(".", "", 1).isdecimal()}


async def test_counters_do_not_fall_when_connections_close(door: Door, peer: Peer) -> None:
    for _ in range(20):
        await peer.ask(Op.EXISTS, read("/"))
    peer.send(Op.SASL, jute.buffer(b""))
    assert (await peer.reply()).error == Error.AUTH_FAILED
    assert await peer.is_closed()
    figures = await figures_of(door)
    # The first frame of the connection is no request, and is counted as a stock server does.
    assert figures["zk_packets_received"] >= 22
    assert figures["zk_packets_sent"] >= 22
    assert figures["zk_auth_failed_count"] == 1
    assert figures["zk_num_alive_connections"] == 1
    assert f"Received: {int(figures['zk_packets_received'])}" in await ask_word(door, b"srvr")


def test_latency_is_that_of_all_requests() -> None:
    counts = Counts()
    assert counts.latency_ms() == (0, 0.0, 0)
    for seconds in (0.002, 0.005, 0.011):
        counts.took(seconds)
    assert counts.latency_ms() == (2, 6.0, 11)


async def test_requests_are_timed(door: Door, peer: Peer) -> None:
    for _ in range(3):
        await peer.ask(Op.SYNC, jute.text("/"))
    assert (await figures_of(door))["zk_avg_latency"] > 0


async def test_all_words_can_be_allowed(open_door: Opening) -> None:
    door = await open_door(four_letter_words=["*"])
    peer = await door.connect()
    await peer.ask(Op.EXISTS, read("/a", watch=True))
    assert await ask_word(door, b"wchp") == f"/a\n\t{peer.session:#x}\n"
    # Who watches nothing is not there, such as the connection that asks.
    assert await ask_word(door, b"wchc") == f"{peer.session:#x}\n\t/a\n"
    assert f"sid={peer.session:#x}" in await ask_word(door, b"cons")


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"host": "0.0.0.0", "port": 2181}, "insecure = true"),
        ({"tls_port": 2281}, "needs cert_file"),
        ({"min_session_timeout_ms": 9_000, "max_session_timeout_ms": 8_000}, "is larger than"),
        ({"unknown": 1}, "Extra inputs are not permitted"),
    ],
)
def test_settings_that_cannot_be_right_are_refused(settings: dict[str, object], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        ZooKeeperConfig.model_validate(settings)


@given(st.sampled_from(sorted(WRITES)), st.binary(max_size=80))
def test_any_bytes_are_decoded_or_refused(op: int, body: bytes) -> None:
    for decode in (
        lambda: requests.operation(op, Record(body)),
        lambda: requests.operations(Record(body)),
        lambda: requests.reads(Record(body)),
        lambda: requests.Connect.decode(body),
    ):
        with suppress(ShortRecordError, UndecodableError):
            decode()


_MEMBERS = st.one_of(
    st.tuples(
        st.just(Op.SET_DATA),
        st.builds(
            set_data,
            st.text(max_size=3),
            st.none() | st.binary(max_size=3),
            st.integers(-2, 2),
        ),
    ),
    # A path that is null.
    st.just((Op.SET_DATA, jute.buffer(None) + jute.buffer(b"x") + jute.int32(0))),
    st.just((Op.CHECK, delete("/a", 1))),
    st.just((Op.CREATE, create("/a", b"x"))),
)


@pytest.mark.ci
@given(st.lists(_MEMBERS, max_size=5), st.data())
def test_a_multi_is_read_as_its_operations_are_one_by_one(
    members: list[tuple[int, bytes]], drawn: st.DataObject
) -> None:
    body = multi(*members)
    alone = [requests.operation(op, Record(each)) for op, each in members]
    found: list[requests.Operation] = []
    for each in requests.operations(Record(body)):
        if isinstance(each, list):
            found += [
                requests.Operation(Op.SET_DATA, path, data, version=version)
                for path, data, version in each
            ]
        else:
            found.append(each)
    assert found == alone
    cut = drawn.draw(st.integers(0, len(body) - 1))
    with pytest.raises(ShortRecordError):
        requests.operations(Record(body[:cut]))
