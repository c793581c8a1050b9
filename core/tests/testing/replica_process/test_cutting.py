from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest
from quorate.testing.replica_process.cutting import CutWay


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


def talk(way: CutWay, content: bytes) -> bytes:
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


@pytest.mark.parametrize("allowed", [0, 1, 16_384, 50_000])
def test_a_way_passes_what_it_may_and_then_breaks_once(echo: str, allowed: int) -> None:
    content = bytes(range(256)) * 300
    with CutWay(echo) as way:
        assert talk(way, content) == content
        way.cut_after(allowed)
        cut = talk(way, content)
        assert content.startswith(cut)
        assert len(cut) <= allowed
        assert way.cuts == 1
        assert talk(way, content) == content
        assert way.cuts == 1


def test_a_way_to_nobody_ends_what_comes() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with CutWay(f"127.0.0.1:{port}") as way:
        assert talk(way, b"anybody?") == b""
