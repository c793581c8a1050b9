from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import pytest
from quorate.testing.ports import HeldPort
from quorate.testing.ways import Way, Ways


@pytest.fixture
def echo() -> Iterator[str]:
    """An address whose listener gives back what it is given."""
    listener = socket.create_server(("127.0.0.1", 0))
    threads: list[threading.Thread] = []

    def serve(one: socket.socket) -> None:
        with one:
            try:
                while piece := one.recv(1 << 16):
                    one.sendall(piece)
            except OSError:
                return

    def accept() -> None:
        while True:
            try:
                one, _ = listener.accept()
            except OSError:
                return
            threads.append(threading.Thread(target=serve, args=(one,)))
            threads[-1].start()

    accepting = threading.Thread(target=accept)
    accepting.start()
    yield f"127.0.0.1:{listener.getsockname()[1]}"
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    accepting.join()
    for each in threads:
        each.join()


def talk(way: Way, content: bytes) -> bytes:
    """What comes back of what is sent, until all of it or the end of the connection."""
    host, _, port = way.address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=10) as ours:
        got = b""
        try:
            ours.sendall(content)
            while len(got) < len(content) and (piece := ours.recv(1 << 16)):
                got += piece
        except OSError:
            pass
        return got


@pytest.fixture
def ways() -> Iterator[Ways]:
    with Ways() as opened:
        yield opened


@pytest.fixture
def way(ways: Ways, echo: str) -> Way:
    return ways.to(echo)


@pytest.mark.parametrize("allowed", [0, 1, 16_384, 50_000])
def test_a_way_passes_what_it_may_and_then_breaks_once(way: Way, allowed: int) -> None:
    content = bytes(range(256)) * 300
    assert talk(way, content) == content
    way.cut_after(allowed)
    cut = talk(way, content)
    assert content.startswith(cut)
    assert len(cut) <= allowed
    assert way.cuts == 1
    assert talk(way, content) == content
    assert way.cuts == 1


def test_a_way_to_nobody_ends_what_comes(ways: Ways) -> None:
    with HeldPort() as port:
        assert talk(ways.to(port.address), b"anybody?") == b""


def test_nothing_passes_a_cut_way_and_all_of_it_comes_when_it_is_healed(way: Way) -> None:
    with connected(way) as before:
        assert said(before, b"before") == b"before"
        way.cut()
        with connected(way) as during:
            for each in (before, during):
                each.sendall(b"held")
                each.settimeout(0.05)
                with pytest.raises(TimeoutError):
                    each.recv(1)
            way.heal()
            for each in (before, during):
                each.settimeout(10)
                assert exactly(each, 4) == b"held"


def test_a_way_that_refuses_breaks_what_is_open_and_takes_nothing_new(way: Way) -> None:
    with connected(way) as before:
        assert said(before, b"before") == b"before"
        way.refuse()
        assert ended(before)
        assert talk(way, b"anybody?") == b""
        way.heal()
        assert talk(way, b"again") == b"again"


def test_what_passes_a_delayed_way_waits_on_both_directions(way: Way) -> None:
    with connected(way) as one:
        assert said(one, b"quick") == b"quick"
        way.delay(0.05)
        began = time.monotonic()
        assert said(one, b"late") == b"late"
        assert time.monotonic() - began >= 0.1


def connected(way: Way) -> socket.socket:
    host, _, port = way.address.rpartition(":")
    return socket.create_connection((host, int(port)), timeout=10)


def said(one: socket.socket, content: bytes) -> bytes:
    one.sendall(content)
    return exactly(one, len(content))


def exactly(one: socket.socket, size: int) -> bytes:
    got = b""
    while len(got) < size and (piece := one.recv(size - len(got))):
        got += piece
    return got


def ended(one: socket.socket) -> bool:
    try:
        return one.recv(1) == b""
    except ConnectionResetError:
        return True
