from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import pytest
from quorate.testing.ports import HeldPort

from tests.support.proxies import Proxies, Proxy


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


def talk(proxy: Proxy, content: bytes) -> bytes:
    """What comes back of what is sent, until all of it or the end of the connection."""
    host, _, port = proxy.address.rpartition(":")
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
def proxies() -> Iterator[Proxies]:
    with Proxies() as opened:
        yield opened


@pytest.fixture
def proxy(proxies: Proxies, echo: str) -> Proxy:
    return proxies.to(echo)


@pytest.mark.parametrize("allowed", [0, 1, 16_384, 50_000])
def test_a_proxy_passes_what_it_may_and_then_breaks_once(proxy: Proxy, allowed: int) -> None:
    content = bytes(range(256)) * 300
    assert talk(proxy, content) == content
    proxy.cut_after(allowed)
    cut = talk(proxy, content)
    assert content.startswith(cut)
    assert len(cut) <= allowed
    assert proxy.cuts == 1
    assert talk(proxy, content) == content
    assert proxy.cuts == 1


def test_a_proxy_to_nobody_ends_what_comes(proxies: Proxies) -> None:
    with HeldPort() as port:
        assert talk(proxies.to(port.address), b"anybody?") == b""


def test_nothing_passes_a_cut_proxy_and_all_of_it_comes_when_it_is_healed(proxy: Proxy) -> None:
    with connected(proxy) as before:
        assert said(before, b"before") == b"before"
        proxy.cut()
        with connected(proxy) as during:
            for each in (before, during):
                each.sendall(b"held")
                each.settimeout(0.05)
                with pytest.raises(TimeoutError):
                    each.recv(1)
            proxy.heal()
            for each in (before, during):
                each.settimeout(10)
                assert exactly(each, 4) == b"held"


def test_a_proxy_that_refuses_breaks_what_is_open_and_takes_nothing_new(proxy: Proxy) -> None:
    with connected(proxy) as before:
        assert said(before, b"before") == b"before"
        proxy.refuse()
        assert ended(before)
        assert talk(proxy, b"anybody?") == b""
        proxy.heal()
        assert talk(proxy, b"again") == b"again"


def test_what_passes_a_delayed_proxy_waits_on_both_directions(proxy: Proxy) -> None:
    with connected(proxy) as one:
        assert said(one, b"quick") == b"quick"
        proxy.delay(0.05)
        began = time.monotonic()
        assert said(one, b"late") == b"late"
        assert time.monotonic() - began >= 0.1


def connected(proxy: Proxy) -> socket.socket:
    host, _, port = proxy.address.rpartition(":")
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
