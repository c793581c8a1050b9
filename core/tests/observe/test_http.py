from __future__ import annotations

import http.client
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from http import HTTPStatus
from pathlib import Path

import pytest
from quorate.cli.authority import make_authority, sign
from quorate.observe import http as serving
from quorate.observe.http import CALLERS, READ, Answer, HttpServer
from quorate.testing.waiting import until


class Paths:
    """Answers `/slow` when it is let."""

    def __init__(self) -> None:
        self.let = threading.Event()
        self.begun = threading.Semaphore(0)

    def slow(self) -> Answer:
        self.begun.release()
        assert self.let.wait(20)
        return Answer(HTTPStatus.OK, b"at last\n")

    def broken(self) -> Answer:
        raise ZeroDivisionError("a bug")


@pytest.fixture
def paths() -> Paths:
    return Paths()


@pytest.fixture
def server(paths: Paths) -> Iterator[HttpServer]:
    server = HttpServer(
        "127.0.0.1",
        0,
        {
            "/here": lambda: Answer(HTTPStatus.OK, b"here\n", "text/x-test"),
            "/slow": paths.slow,
            "/broken": paths.broken,
        },
    )
    yield server
    paths.let.set()
    server.close()


def ask(server: HttpServer, path: str, method: str = "GET") -> tuple[int, bytes, Mapping[str, str]]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    try:
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, answer.read(), dict(answer.getheaders())
    finally:
        connection.close()


def test_a_path_is_answered_whatever_is_asked_behind_it(server: HttpServer) -> None:
    status, body, headers = ask(server, "/here?verbose")

    assert (status, body, headers["Content-Type"]) == (200, b"here\n", "text/x-test")


def test_head_is_told_what_get_is_without_the_body(server: HttpServer) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as caller:
        caller.sendall(b"HEAD /here HTTP/1.0\r\n\r\n")
        told = b"".join(iter(lambda: caller.recv(1_000), b""))

    assert told.startswith(b"HTTP/1.0 200 OK\r\n")
    assert told.endswith(b"\r\nContent-Length: 5\r\n\r\n")


def test_another_path_is_not_there(server: HttpServer) -> None:
    status, body, _ = ask(server, "/elsewhere")

    assert (status, body) == (404, b"there are /here, /slow, /broken\n")


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_nothing_is_taken(server: HttpServer, method: str) -> None:
    status, _, headers = ask(server, "/here", method)

    assert (status, headers["Allow"]) == (405, "GET, HEAD")


def test_an_answer_that_fails_is_told_and_logged(
    server: HttpServer, caplog: pytest.LogCaptureFixture
) -> None:
    assert ask(server, "/broken")[0] == 500
    assert "ZeroDivisionError: a bug" in caplog.text
    assert ask(server, "/here")[0] == 200


def test_what_is_no_http_breaks_nothing(server: HttpServer) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as strange:
        strange.sendall(b"\x00\xff" * 100 + b"\r\n\r\n")
        strange.recv(100)

    assert ask(server, "/here")[0] == 200


def test_a_slow_answer_holds_up_nobody_and_too_many_callers_are_told_so(
    server: HttpServer, paths: Paths
) -> None:
    answers: list[int] = []
    callers = [
        threading.Thread(target=lambda: answers.append(ask(server, "/slow")[0]))
        for _ in range(CALLERS - 1)
    ]
    for caller in callers:
        caller.start()
    for _ in callers:
        assert paths.begun.acquire(timeout=20)
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as last:
        last.sendall(b"GET /slow HTTP/1.0\r\n\r\n")
        assert paths.begun.acquire(timeout=20)
        assert ask(server, "/here")[0] == 503
        paths.let.set()
        assert last.recv(100).startswith(b"HTTP/1.0 200")
    for caller in callers:
        caller.join(20)

    assert answers == [200] * len(callers)


def test_an_address_in_use_is_refused(server: HttpServer) -> None:
    with pytest.raises(OSError, match="in use"):
        HttpServer("127.0.0.1", server.port, {})


class Site:
    """Keeps what it is asked."""

    def __init__(self) -> None:
        self.asked: list[serving.Request] = []

    def __call__(self, request: serving.Request) -> Answer:
        self.asked.append(request)
        return Answer(HTTPStatus.OK, b"done\n")


@pytest.fixture
def site() -> Site:
    return Site()


@pytest.fixture
def sites(site: Site) -> Iterator[HttpServer]:
    server = HttpServer("127.0.0.1", 0, {}, sites={"/site": site})
    yield server
    server.close()


def send(server: HttpServer, body: str, origin: str | None, path: str = "/site/a%20b") -> int:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    headers = {} if origin is None else {"Origin": origin}
    try:
        connection.request("POST", path, body, headers)
        return connection.getresponse().status
    finally:
        connection.close()


def test_a_site_gets_the_forms_of_its_own_pages(sites: HttpServer, site: Site) -> None:
    assert send(sites, "x=1&y=a+b", f"http://127.0.0.1:{sites.port}") == 200

    [asked] = site.asked
    assert (asked.path, asked.form, asked.address) == ("a b", {"x": "1", "y": "a b"}, "127.0.0.1")
    ask(sites, "/site/?x=2")
    assert site.asked[1].form is None


@pytest.mark.parametrize(
    "origin", [None, "", "null", "http://evil.example", "http://127.0.0.1:1", "http://["]
)
def test_a_form_of_a_strange_page_is_refused(
    sites: HttpServer, site: Site, origin: str | None
) -> None:
    assert send(sites, "x=1", origin) == 403
    assert site.asked == []


@pytest.mark.parametrize(("scheme", "status"), [("http", 403), ("https", 200)])
def test_a_site_with_tls_takes_no_form_of_a_page_without(
    tmp_path: Path, site: Site, scheme: str, status: int
) -> None:
    make_authority(tmp_path)
    sign(tmp_path, "n1", ["127.0.0.1"])
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(tmp_path / "n1.pem", tmp_path / "n1.key")
    trusting = ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))
    with closing(HttpServer("127.0.0.1", 0, {}, tls, {"/site": site})) as server:
        address = f"127.0.0.1:{server.port}"
        connection = http.client.HTTPSConnection(address, timeout=20, context=trusting)
        with closing(connection):
            connection.request("POST", "/site/a", "x=1", {"Origin": f"{scheme}://{address}"})
            assert connection.getresponse().status == status


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("x" * 70_000, 413),
        ("&".join(f"f{number}=1" for number in range(40)), 400),
        ("\xff", 400),
    ],
)
def test_what_is_no_form_is_refused(sites: HttpServer, site: Site, body: str, status: int) -> None:
    assert send(sites, body, f"http://127.0.0.1:{sites.port}") == status
    assert site.asked == []


def test_nobody_listens_when_it_is_closed() -> None:
    server = HttpServer("127.0.0.1", 0, {})
    port = server.port
    server.close()

    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=20)


def test_callers_that_stall_before_tls_stands_make_room_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    make_authority(tmp_path)
    sign(tmp_path, "n1", ["localhost"])
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(tmp_path / "n1.pem", tmp_path / "n1.key")
    trusting = ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))
    monkeypatch.setattr(serving, "REQUEST_S", 0.2)
    paths = {"/here": lambda: Answer(HTTPStatus.OK, b"here\n")}
    server = HttpServer("127.0.0.1", 0, paths, tls)

    def asked() -> bytes | None:
        try:
            with (
                socket.create_connection(("127.0.0.1", server.port), 20) as plain,
                trusting.wrap_socket(plain, server_hostname="localhost") as encrypted,
                encrypted.makefile("rb") as answer,
            ):
                encrypted.sendall(b"GET /here HTTP/1.0\r\n\r\n")
                return answer.read()
        except OSError:
            return None

    try:
        with ExitStack() as stalled:
            for _ in range(READ):
                silent = socket.create_connection(("127.0.0.1", server.port), 20)
                stalled.enter_context(silent)
            found = until(asked)
            assert found.endswith(b"here\n")
    finally:
        server.close()


@pytest.mark.parametrize("path", ["/here", "/nowhere", "/broken"])
def test_no_answer_is_for_a_page_a_frame_or_a_cache(server: HttpServer, path: str) -> None:
    _, _, headers = ask(server, path)

    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Content-Security-Policy"] == "default-src 'none'; frame-ancestors 'none'"
    assert headers["Cache-Control"] == "no-store"


def test_a_length_that_is_no_length_is_refused(sites: HttpServer, site: Site) -> None:
    host = f"127.0.0.1:{sites.port}"
    with socket.create_connection(("127.0.0.1", sites.port), timeout=20) as caller:
        headers = f"Host: {host}\r\nOrigin: http://{host}\r\nContent-Length: {'9' * 5_000}"
        caller.sendall(f"POST /site/ HTTP/1.0\r\n{headers}\r\n\r\n".encode())
        told = b"".join(iter(lambda: caller.recv(1_000), b""))

    assert told.startswith(b"HTTP/1.0 413")
    assert site.asked == []


def is_ended(caller: socket.socket) -> bool:
    """Return whether the server ends a connection without an answer."""
    try:
        return caller.recv(1) == b""
    except ConnectionResetError:
        return True


def test_the_oldest_caller_that_says_nothing_makes_room(server: HttpServer) -> None:
    """In no time: they may be silent for long."""
    with ExitStack() as opened:
        silent = [
            opened.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=20))
            for _ in range(READ)
        ]
        for ended in silent[:3]:
            assert ask(server, "/here")[0] == 200
            assert is_ended(ended)


def test_a_request_that_comes_byte_by_byte_ends_in_time(
    server: HttpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "REQUEST_S", 0.3)
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as slow:
        slow.settimeout(0.05)

        def ended() -> bool | None:
            try:
                slow.sendall(b"G")
                return is_ended(slow) or None
            except TimeoutError:
                return None
            except OSError:
                return True

        assert until(ended)


def test_an_answer_that_takes_its_time_is_given_all_of_it(
    server: HttpServer, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "REQUEST_S", 0.2)
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as caller:
        caller.sendall(b"GET /slow HTTP/1.0\r\n\r\n")
        assert paths.begun.acquire(timeout=20)
        # One that came after it has been ended meanwhile.
        with socket.create_connection(("127.0.0.1", server.port), timeout=20) as silent:
            assert is_ended(silent)
        paths.let.set()
        assert caller.recv(100).startswith(b"HTTP/1.0 200")


def test_one_address_has_half_of_the_places_and_this_machine_its_own() -> None:
    places = serving.Places(8)
    assert [places.take("192.0.2.1") for _ in range(5)] == [True] * 4 + [False]
    assert [places.take(f"192.0.2.{number}") for number in range(2, 8)] == [True] * 4 + [False] * 2
    assert [places.take("::ffff:127.0.0.1") for _ in range(9)] == [True] * 8 + [False]
    places.give("192.0.2.1")
    assert places.take("2001:db8::1")


def test_a_flood_from_one_address_evicts_its_own() -> None:
    calls, pairs = serving.Calls(), [socket.socketpair() for _ in range(READ + 1)]
    try:
        addresses = ["192.0.2.9", *["192.0.2.1"] * READ]
        for (connection, _), address in zip(pairs, addresses, strict=True):
            calls.begin(serving.Call(connection, address))
        for _, peer in pairs:
            peer.setblocking(False)
        # The oldest is of another address, and the newest have half of the places.
        with pytest.raises(BlockingIOError):
            pairs[0][1].recv(1)
        assert [is_ended(peer) for _, peer in pairs[1 : READ // 2 + 1]] == [True] * (READ // 2)
        for _, peer in pairs[READ // 2 + 1 :]:
            with pytest.raises(BlockingIOError):
                peer.recv(1)
    finally:
        for connection, peer in pairs:
            connection.close()
            peer.close()
