"""What a connection may do to the door, and what it may not."""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
import pty
import ssl
import subprocess
import sys
import termios
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from quorate.testing import MemoryNode
from quorate_name_server.remoting import connection, door, registering, server
from quorate_name_server.remoting.codes import CODES
from quorate_name_server.remoting.door import Door
from quorate_name_server.remoting.frames import LARGEST_FRAME, frame
from quorate_name_server.remoting.headers import Request, Response
from quorate_name_server.remoting.server import FrameBudget

from tests.support.rocketmq.peers import CLUSTERS, PUT, ROUTE, UNREGISTER, Doors, Peer, register
from tests.support.rocketmq.recorded import exchanges

ONE_WAY, RESPONSE = 2, 1
Opening = Callable[..., Awaitable[Doors]]
HEADER = b'{"code":106,"opaque":1}'


def door_server(*, allowed: bool = True) -> server.Server:
    """Return the server of a door that does not listen."""
    node = MemoryNode(["name_server"])
    if not allowed:
        node.allows = lambda *_: False  # type: ignore[method-assign]
    door = Door(node)
    codes = {code: partial(handle, door) for code, handle in CODES.items()}
    return server.Server(node, 0, codes, door.lose)


async def test_requests_of_a_user_without_the_right_are_refused() -> None:
    served = door_server(allowed=False)

    answer = served.answer(Unread(served).protocol, Request(105, 1, fields={"topic": "orders"}))

    assert isinstance(answer, Response)
    assert answer.code == 16
    assert "remoting_user" in answer.remark


class Unread(asyncio.Transport):
    """A connection whose peer reads nothing."""

    def __init__(self, served: server.Server) -> None:
        super().__init__()
        self.sent = 0
        self.closing = False
        self.protocol = connection.Connection(served)
        self.protocol.connection_made(self)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.sent += len(data)
        self.protocol.pause_writing()

    def is_closing(self) -> bool:
        return self.closing

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass

    def abort(self) -> None:
        self.closing = True
        asyncio.get_running_loop().call_soon(self.protocol.connection_lost, None)


async def is_closed(peer: Peer) -> bool:
    """Wait for the end of a connection, before which nothing comes."""
    async with asyncio.timeout(10):
        try:
            return await peer.reader.read() == b""
        except ConnectionResetError:
            return True


async def test_requests_are_pipelined_and_each_gets_its_answer(peer: Peer) -> None:
    await register(peer)
    first = peer.opaque + 1
    for number in range(200):
        peer.send(PUT, namespace="N", key=str(number), value="V")
        peer.send(ROUTE, topic="T1")

    answers = [await peer.answer() for _ in range(400)]

    assert {each.code for each in answers} == {0}
    assert sorted(each.header["opaque"] for each in answers) == list(range(first, first + 400))


async def test_what_asks_for_no_answer_gets_none(peer: Peer) -> None:
    peer.send(CLUSTERS, flag=ONE_WAY)
    peer.send(9_999, flag=ONE_WAY)
    peer.send(PUT, flag=ONE_WAY, namespace="N", key="K")
    peer.send(CLUSTERS, flag=RESPONSE)

    answer = await peer.ask(CLUSTERS)

    assert answer.code == 0


async def test_a_frame_may_come_byte_by_byte(peer: Peer) -> None:
    for byte in frame(HEADER):
        peer.writer.write(bytes([byte]))
        await peer.writer.drain()

    assert (await peer.answer()).code == 0


async def test_a_proxy_may_tell_whom_it_speaks_for(door: Doors) -> None:
    for said in (
        b"PROXY TCP4 192.0.2.1 192.0.2.2 56324 9876\r\n",
        b"\r\n\r\n\x00\r\nQUIT\n" + bytes.fromhex("21110003") + b"abc",
    ):
        peer = await door.connect()
        peer.writer.write(said + frame(HEADER))
        assert (await peer.answer()).code == 0


@pytest.mark.parametrize(
    "stream",
    [
        b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        frame(b"no JSON"),
        frame(b"[]"),
        frame(b'{"code":"x"}'),
        frame(b'{"code":105,"extFields":{"topic":"\\ud800"}}'),
        frame(b'{"code":105,"extFields":{"topic":"\xed\xa0\x80"}}'),
        b"\x00\x00\x00\x10\x02\x00\x00\x08" + bytes(12),
        (LARGEST_FRAME - 3).to_bytes(4, "big") + bytes(8),
        b"\xff\xff\xff\xff" + bytes(8),
        b"\x16\x03\x01\x00\x05hello",
    ],
)
async def test_what_is_not_of_the_protocol_closes_the_connection(
    door: Doors, stream: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    peers = [await door.connect() for _ in range(3)]
    with caplog.at_level(logging.WARNING):
        for peer in peers:
            peer.writer.write(stream)

        assert all([await is_closed(peer) for peer in peers])

    [line] = caplog.messages
    assert len(line) < 600
    assert (await (await door.connect()).ask(CLUSTERS)).code == 0


async def test_a_body_that_is_malformed_is_answered_with_an_error(peer: Peer) -> None:
    assert (await register(peer, b"\xff")).code == 1
    assert (await register(peer, b"[" * 100_000)).code == 1
    assert (await peer.ask(CLUSTERS)).code == 0


RECORDED = [frame(each.asked[0].encode(), each.asked[1].encode()) for each in exchanges()]


@pytest.mark.ci
@settings(max_examples=30)
@given(st.data())
def test_mutated_frames_do_no_harm(data: st.DataObject) -> None:
    streams = []
    for _ in range(data.draw(st.integers(1, 5))):
        stream = bytearray(data.draw(st.sampled_from(RECORDED) | st.binary(max_size=64)))
        for _ in range(data.draw(st.integers(0, 4))):
            at = data.draw(st.integers(0, len(stream)))
            stream[at : at + data.draw(st.integers(0, 4))] = data.draw(st.binary(max_size=4))
        streams.append(bytes(stream))

    asyncio.run(send_and_ask(streams))


async def send_and_ask(streams: list[bytes]) -> None:
    """Send each on a connection of its own, and demand that a healthy one is answered."""
    failed: list[str] = []

    class Failures(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.levelno >= logging.ERROR:
                failed.append(self.format(record))

    handler = Failures()
    logging.getLogger().addHandler(handler)
    try:
        async with Doors.opened() as door:
            for stream in streams:
                peer = await door.connect()
                peer.writer.write(stream)
                peer.writer.write_eof()
                try:
                    await peer.reader.read()
                except ConnectionResetError:
                    continue
            assert (await (await door.connect()).ask(CLUSTERS)).code == 0
    finally:
        logging.getLogger().removeHandler(handler)
    assert not failed


# Bounds.


async def test_connections_beyond_the_limit_are_closed(open_door: Opening) -> None:
    door = await open_door(remoting_connections=2)
    peers = [await door.connect() for _ in range(2)]
    assert [(await peer.ask(CLUSTERS)).code for peer in peers] == [0, 0]

    assert await is_closed(await door.connect())

    await peers[0].close()
    peer = await door.connect()
    while await asyncio.wait_for(ended(peer), 10):
        peer = await door.connect()


async def test_the_oldest_connection_that_asks_nothing_makes_room(open_door: Opening) -> None:
    door = await open_door(remoting_connections=3)
    asking = await door.connect()
    assert (await asking.ask(CLUSTERS)).code == 0
    silent = [await door.connect() for _ in range(2)]
    for oldest in silent:
        peer = await door.connect()
        assert (await peer.ask(CLUSTERS)).code == 0
        assert await is_closed(oldest)
    assert (await asking.ask(CLUSTERS)).code == 0


async def ended(peer: Peer) -> bool:
    try:
        return (await peer.ask(CLUSTERS)).code != 0
    except (asyncio.IncompleteReadError, ConnectionError):
        return True


async def test_idle_connections_are_closed(
    monkeypatch: pytest.MonkeyPatch, open_door: Opening
) -> None:
    monkeypatch.setattr(server, "IDLE_S", 0.0)
    monkeypatch.setattr(server, "_IDLE_CHECK_S", 0.01)

    assert await is_closed(await (await open_door()).connect())


async def test_a_frame_that_comes_byte_by_byte_does_not_keep_a_connection(
    monkeypatch: pytest.MonkeyPatch, open_door: Opening
) -> None:
    monkeypatch.setattr(server, "IDLE_S", 0.2)
    monkeypatch.setattr(server, "_IDLE_CHECK_S", 0.01)
    peer = await (await open_door()).connect()
    peer.writer.write((1 << 20).to_bytes(4, "big"))

    async def trickle() -> None:
        while True:
            peer.writer.write(b"\0")
            await asyncio.sleep(0.01)

    trickling = asyncio.create_task(trickle())
    try:
        assert await is_closed(peer)
    finally:
        trickling.cancel()


async def test_who_reads_nothing_for_long_is_disconnected(
    monkeypatch: pytest.MonkeyPatch, open_door: Opening
) -> None:
    monkeypatch.setattr(server, "IDLE_S", 0.2)
    monkeypatch.setattr(server, "_IDLE_CHECK_S", 0.01)
    door = await open_door(remoting_connections=1)
    silent = await door.connect(limit=1)
    # The answers are as long as what they name.
    for _ in range(20):
        silent.send(ROUTE, topic="T" * 1_000_000)

    while await asyncio.wait_for(ended(await door.connect()), 10):
        pass


async def test_answers_wait_for_who_does_not_read_them(
    monkeypatch: pytest.MonkeyPatch, open_door: Opening
) -> None:
    """However many requests came at once."""
    served = door_server()
    monkeypatch.setattr(served, "answer", lambda *asked: Response(body=bytes(10_000)))
    unread = Unread(served)

    unread.protocol.data_received(frame(HEADER) * 1_000)

    assert 1 << 16 < unread.sent < 1 << 18
    for _ in range(1_000):
        unread.protocol.resume_writing()
    assert unread.sent > 1_000 * 10_000


async def test_a_peer_that_reads_nothing_is_not_read_from(door: Doors) -> None:
    reading, silent = await door.connect(), await door.connect(limit=1)
    await register(reading)
    silent.writer.transport.set_write_buffer_limits(high=0)

    async def flood() -> None:
        while True:
            silent.send(ROUTE, topic="T1")
            await silent.writer.drain()

    with pytest.raises(TimeoutError):
        await asyncio.wait_for(flood(), 0.5)
    assert (await reading.ask(ROUTE, topic="T1")).code == 0


def test_room_is_given_in_the_order_of_asking() -> None:
    room, taken = FrameBudget(10), []

    assert room.take(6, lambda: None)
    assert not room.take(8, lambda: taken.append(8))
    assert not room.take(1, lambda: taken.append(1))
    assert taken == []
    room.give(6)

    assert taken == [8, 1]


async def test_large_frames_wait_for_each_other(
    monkeypatch: pytest.MonkeyPatch, open_door: Opening
) -> None:
    monkeypatch.setattr(server, "BUDGET_BYTES", 300_000)
    door = await open_door()
    holding, waiting, gone = [await door.connect() for _ in range(3)]
    large = frame(HEADER, bytes(200_000))
    half = len(large) // 2
    assert len(large) > connection.LARGE

    holding.writer.write(large[:half])
    await holding.writer.drain()
    for peer in (gone, waiting):
        peer.writer.write(large)
    await gone.close()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2):
            await waiting.answer()
    holding.writer.write(large[half:])

    assert (await holding.answer()).code == 0
    assert (await waiting.answer()).code == 0


async def test_each_of_two_large_frames_waits_for_its_own_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server, "BUDGET_BYTES", 300_000)
    served = door_server()
    small, large = frame(HEADER, bytes(70_000)), frame(HEADER, bytes(250_000))
    peer = Unread(served).protocol

    peer.data_received(small[:100])
    peer.data_received(small[100:] + large[:100])
    assert not served.budget.take(100_000, lambda: None)


async def test_who_has_gone_holds_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "BUDGET_BYTES", 300_000)
    served = door_server()
    answer: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
    monkeypatch.setattr(served, "answer", lambda *asked: answer)
    unread = Unread(served)

    unread.protocol.data_received(frame(HEADER) + frame(HEADER, bytes(200_000))[:100])
    unread.abort()
    await asyncio.sleep(0)
    answer.set_result(Response())
    await asyncio.gather(*served._tasks)

    assert served.budget.take(300_000, lambda: None)


async def test_who_connects_to_a_closed_door_is_refused() -> None:
    """It was accepted when the door was being closed."""
    served = door_server()
    await served.close()

    assert Unread(served).is_closing()


async def test_who_registers_while_the_door_is_closed_stays_registered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The answer comes when its connection has been closed, which is no loss of the broker."""
    served = door_server()
    answer: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
    unregistered = []

    async def register(of: connection.Connection, request: Request) -> Response:
        registered = await answer
        if not of.is_open:
            unregistered.append(of)
        return registered

    monkeypatch.setattr(served, "answer", register)
    Unread(served).protocol.data_received(frame(HEADER))
    await asyncio.sleep(0)

    answer.set_result(Response())
    await served.close()

    assert not unregistered


async def test_what_is_registered_while_a_connection_is_lost_hinders_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    node = MemoryNode(["name_server"])
    entrance = Door(node)
    gone = connection.Connection(door_server())
    gone.host = "10.0.0.1"
    looked_at = []

    async def refuses(address: str) -> bool:
        looked_at.append(address)
        gone.registrations["later", address] = 1
        return False

    monkeypatch.setattr(door, "refuses", refuses)
    for name in ("broker-a", "broker-b"):
        gone.registrations[name, f"{gone.host}:1"] = 1
        entrance.connections[name, f"{gone.host}:1"] = gone
    await entrance.lose(gone)

    assert looked_at == ["10.0.0.1:1"] * 2
    assert not entrance.connections


async def test_a_connection_forgets_members_that_leave_and_takes_so_many(
    peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that registers and unregisters ever new ones costs no more than the last."""
    monkeypatch.setattr(registering, "MOST_MEMBERS", 3)
    for number in range(8):
        assert (await register(peer, broker=f"broker-{number}")).code == 0
        left = await peer.ask(
            UNREGISTER, brokerName=f"broker-{number}", brokerAddr="10.0.0.1:10911"
        )
        assert left.code == 0
    for number in range(3):
        address = f"10.0.0.{number}:10911"
        assert (await register(peer, broker=f"broker-{number}", address=address)).code == 0
    refused = await register(peer, broker="broker-3", address="10.0.0.3:10911")
    assert (refused.code, "open another" in refused.header["remark"]) == (1, True)
    # What it said before, it may say again.
    assert (await register(peer, broker="broker-0", address="10.0.0.0:10911")).code == 0


# TLS.


def test_a_key_with_a_password_is_refused_without_asking_for_it(tmp_path: Path) -> None:
    key, cert = tmp_path / "key.pem", tmp_path / "cert.pem"
    command = "openssl req -x509 -newkey rsa:2048 -passout pass:secret -subj /CN=localhost -keyout"
    subprocess.run([*command.split(), key, "-out", cert], check=True, capture_output=True)
    # With a terminal OpenSSL would ask there, and wait.
    asking = (
        "import sys; from quorate_name_server.remoting.tls import Certificates; "
        "Certificates(sys.argv[1], sys.argv[2], '')"
    )
    leader, follower = pty.openpty()
    try:
        ended = subprocess.run(
            [sys.executable, "-c", asking, cert, key],
            stdin=follower,
            stderr=subprocess.PIPE,
            start_new_session=True,
            timeout=60,
            check=False,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
    finally:
        os.close(leader)
        os.close(follower)
    assert b"PEM pass phrase" not in ended.stderr
    assert b"SSLError" in ended.stderr


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("tls") / "both.pem"
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -keyout"
    subprocess.run([*command.split(), file, "-out", f"{file}.crt"], check=True, capture_output=True)
    file.write_bytes(file.read_bytes() + Path(f"{file}.crt").read_bytes())
    return file


def client_context(certificate: Path) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=f"{certificate}.crt")
    context.check_hostname = False
    return context


async def test_one_port_serves_tls_and_plain(open_door: Opening, certificate: Path) -> None:
    door = await open_door(remoting_cert_file=str(certificate))
    plain, secure = await door.connect(), await door.connect(ssl=client_context(certificate))
    await register(plain)

    answers = [await peer.ask(ROUTE, topic="T1") for peer in (plain, secure)]
    large = await secure.ask(CLUSTERS, bytes(1 << 20))

    assert answers[0].json == answers[1].json
    assert large.code == 0


async def test_plain_connections_are_closed_where_tls_is_demanded(
    open_door: Opening, certificate: Path
) -> None:
    door = await open_door(remoting_cert_file=str(certificate), remoting_tls_only=True)
    plain, secure = await door.connect(), await door.connect(ssl=client_context(certificate))
    plain.writer.write(frame(HEADER))

    assert await is_closed(plain)
    assert (await secure.ask(CLUSTERS)).code == 0


async def test_the_nodes_own_certificate_serves_where_the_door_has_none(
    open_door: Opening, certificate: Path
) -> None:
    of_node = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    of_node.load_cert_chain(certificate)
    door = await open_door(tls=of_node, remoting_tls_only=True)
    secure = await door.connect(ssl=client_context(certificate))
    assert (await secure.ask(CLUSTERS)).code == 0


async def test_tls_cannot_be_demanded_without_any_certificate(open_door: Opening) -> None:
    with pytest.raises(OSError, match=r"remoting_tls_only needs a certificate.*tls\.cert_file"):
        await open_door(remoting_tls_only=True)


async def test_clients_need_a_certificate_where_that_is_demanded(
    open_door: Opening, certificate: Path
) -> None:
    door = await open_door(
        remoting_cert_file=str(certificate), remoting_client_ca_file=f"{certificate}.crt"
    )
    known = client_context(certificate)
    known.load_cert_chain(certificate)
    secure = await door.connect(ssl=known)

    assert (await secure.ask(CLUSTERS)).code == 0
    with pytest.raises((ssl.SSLError, OSError, asyncio.IncompleteReadError)):
        await (await door.connect(ssl=client_context(certificate))).ask(CLUSTERS)


@pytest.mark.parametrize(("user", "admitted"), [("", "localhost"), ("door", "door")])
async def test_who_has_a_certificate_calls_as_the_user_that_it_names(
    open_door: Opening,
    certificate: Path,
    monkeypatch: pytest.MonkeyPatch,
    user: str,
    admitted: str,
) -> None:
    monkeypatch.setattr(
        MemoryNode, "allows", lambda _, name, access, request=None: name == admitted
    )
    door = await open_door(
        remoting_cert_file=str(certificate),
        remoting_client_ca_file=f"{certificate}.crt",
        remoting_user=user,
    )
    seen: list[str] = []
    propose = MemoryNode.propose

    async def noted(node: MemoryNode, *given: Any, **named: Any) -> Any:
        seen.append(node.caller().name)
        return await propose(node, *given, **named)

    monkeypatch.setattr(MemoryNode, "propose", noted)
    known = client_context(certificate)
    known.load_cert_chain(certificate)
    secure, plain = await door.connect(ssl=known), await door.connect()

    assert (await secure.ask(CLUSTERS)).code == 0
    assert (await plain.ask(CLUSTERS)).code == (0 if user else 16)
    assert (await register(secure)).code == 0
    assert seen[0] == "localhost"


async def test_a_changed_certificate_is_served(open_door: Opening, certificate: Path) -> None:
    file = certificate.with_name("changing.pem")
    file.write_bytes(certificate.read_bytes())
    door = await open_door(remoting_cert_file=str(file))
    await (await door.connect(ssl=client_context(certificate))).ask(CLUSTERS)

    file.write_bytes(b"none")

    with pytest.raises((ssl.SSLError, OSError)):
        await door.connect(ssl=client_context(certificate))
