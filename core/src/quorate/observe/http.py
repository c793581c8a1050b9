"""A small HTTP server for metrics, probes, and pages."""

import logging
import socket
import socketserver
import ssl
import threading
from base64 import b64decode
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from ipaddress import IPv6Address, ip_address
from time import monotonic
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl, unquote

_log = logging.getLogger(__name__)

#: Maximum number of concurrent answers: of fixed paths, which serve probes, and of sites; and as
#: many of each for callers on this machine. One other address gets at most half of them.
CALLERS: Final = 16
#: Maximum number of connections, of each of these two kinds of callers, with incomplete requests.
READ: Final = 32
#: The time limit to receive a whole request, and again to send its answer.
REQUEST_S: Final = 5.0
#: Maximum number of connections that wait to be accepted.
_BACKLOG: Final = 128
#: Maximum number of fields of a query or of a form, and of bytes of a form.
_FIELDS: Final = 32
_FORM_BYTES: Final = 1 << 16
#: Interval at which the thread checks for the end, and for connections that take too long.
_LOOK_S: Final = 0.1


#: They keep answers out of other pages, frames and caches.
_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class Request(NamedTuple):
    """A request to a site."""

    #: Below the site's own, without a leading slash.
    path: str
    #: The last value of each name.
    query: Mapping[str, str]
    #: The password of basic authentication; "": none was given.
    password: str
    #: The fields of a form that a page of this site sent; None for a GET or HEAD.
    form: Mapping[str, str] | None = None
    #: The address of the caller.
    address: str = ""
    #: The header `Accept`: the types of content that the caller takes.
    accept: str = ""


class Answer(NamedTuple):
    """A response."""

    status: HTTPStatus
    body: bytes
    content_type: str = "text/plain; charset=utf-8"
    #: Headers of its own, in addition to those of every answer or in their place.
    headers: Mapping[str, str] = {}


#: Answers all paths below its own.
Site = Callable[[Request], Answer]


class HttpServer:
    """Serves GET and HEAD of fixed paths and of sites, with a thread per connection.

    The constructor listens; it raises `OSError` if it cannot. A site is named by its path, which
    has one part. It gets forms, too, but only from its own pages: a browser names the page that
    sent one.
    """

    def __init__(
        self,
        host: str,
        port: int,
        paths: Mapping[str, Callable[[], Answer]],
        tls: ssl.SSLContext | None = None,
        sites: Mapping[str, Site] | None = None,
    ) -> None:
        self._server: Final = _Server(host, port, paths, tls, sites or {})
        self._thread: Final = threading.Thread(
            target=self._server.serve_forever, args=(_LOOK_S,), name="http", daemon=True
        )
        self._thread.start()

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self._server.server_address[1])

    def close(self) -> None:
        """Stop listening; blocks briefly."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class Places:
    """Limits the places that callers take, in total and per address."""

    def __init__(self, most: int) -> None:
        self._most: Final = most
        self._lock: Final = threading.Lock()
        self._taken: Final[Counter[str]] = Counter()

    def take(self, address: str) -> bool:
        """Take a place; False: none is free."""
        near = _is_near(address)
        with self._lock:
            taken = sum(count for each, count in self._taken.items() if _is_near(each) == near)
            if taken >= self._most or (not near and self._taken[address] >= self._most // 2):
                return False
            self._taken[address] += 1
            return True

    def give(self, address: str) -> None:
        """Return a place."""
        with self._lock:
            self._taken[address] -= 1
            if not self._taken[address]:
                del self._taken[address]


class Call:
    """A connection, its deadline, and whether it may be ended in favour of another one."""

    __slots__ = ("address", "connection", "reads", "until_s")

    def __init__(self, connection: socket.socket, address: str) -> None:
        self.connection = connection
        self.address: Final = address
        #: Whether its request is incomplete.
        self.reads = True
        self.until_s = monotonic() + REQUEST_S

    def answers(self) -> None:
        """Lift the deadline while the answer is made."""
        self.reads, self.until_s = False, float("inf")

    def sends(self) -> None:
        """Set the deadline for sending the answer."""
        self.reads, self.until_s = False, monotonic() + REQUEST_S

    def end(self) -> None:
        """Shut the connection down, which wakes the thread that serves it."""
        with suppress(OSError):
            # The method of a TLS socket would drop the TLS state that its thread reads with.
            socket.socket.shutdown(self.connection, socket.SHUT_RDWR)


class Calls:
    """The connections of a server, the oldest first."""

    def __init__(self) -> None:
        self._lock: Final = threading.Lock()
        self._held: Final[dict[Call, None]] = {}

    def begin(self, call: Call) -> None:
        """Add a connection; if too many have incomplete requests, end the oldest of them.

        It is the oldest of the address that has most: a flood from one address keeps no other out.
        """
        near = _is_near(call.address)
        with self._lock:
            read = [each for each in self._held if each.reads and _is_near(each.address) == near]
            counts = Counter(each.address for each in read)
            own = call.address if not near and counts[call.address] >= READ // 2 else ""
            if own or len(read) >= READ:
                evicted = own or counts.most_common(1)[0][0]
                oldest = next(each for each in read if each.address == evicted)
                # `end_late` ends it again until its thread notices.
                oldest.reads, oldest.until_s = False, 0.0
                oldest.end()
            self._held[call] = None

    def ended(self, call: Call) -> None:
        """Remove a connection."""
        with self._lock:
            self._held.pop(call, None)

    def end_late(self, now_s: float) -> None:
        """End the connections that take too long."""
        with self._lock:
            for each in self._held:
                if each.until_s <= now_s:
                    each.end()


def _is_near(address: str) -> bool:
    """Return whether an address is a loopback address."""
    found = ip_address(address.partition("%")[0])
    if isinstance(found, IPv6Address):
        return (found.ipv4_mapped or found).is_loopback
    return found.is_loopback


class _Server(socketserver.TCPServer):
    """Serves each connection in a thread of its own, which delays neither others nor the end."""

    allow_reuse_address = True
    request_queue_size = _BACKLOG

    def __init__(
        self,
        host: str,
        port: int,
        paths: Mapping[str, Callable[[], Answer]],
        tls: ssl.SSLContext | None,
        sites: Mapping[str, Site],
    ) -> None:
        self._tls: Final = tls
        self.sites: Final = sites
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.paths: Final = paths
        self.of_paths: Final = Places(CALLERS)
        self.of_sites: Final = Places(CALLERS)
        self._calls: Final = Calls()
        super().__init__((host, port), _Caller)

    def process_request(self, request: Any, client_address: Any) -> None:
        call = Call(request, str(client_address[0]))
        self._calls.begin(call)
        try:
            threading.Thread(target=self._serve, args=(call, client_address), daemon=True).start()
        except RuntimeError:
            # The system gives no more threads.
            self._calls.ended(call)
            raise

    def service_actions(self) -> None:
        self._calls.end_late(monotonic())

    def server_close(self) -> None:
        super().server_close()
        # Answers in the making are finished.
        self._calls.end_late(monotonic() + REQUEST_S)

    def handle_error(self, request: Any, client_address: Any) -> None:
        _log.debug("an HTTP connection from %s was lost", client_address, exc_info=True)

    def _serve(self, call: Call, client_address: Any) -> None:
        try:
            if self._tls is not None:
                # In the connection's own thread: a caller that stalls delays no other.
                plain = call.connection
                encrypted = self._tls.wrap_socket(
                    plain, server_side=True, do_handshake_on_connect=False
                )
                call.connection = encrypted
                encrypted.do_handshake()
            _Caller(call, client_address, self)
        except Exception:  # noqa: BLE001 - as the library does
            self.handle_error(call.connection, client_address)
        finally:
            self._calls.ended(call)
            self.shutdown_request(call.connection)


class _Caller(BaseHTTPRequestHandler):
    server: _Server
    server_version = "quorate"
    sys_version = ""

    def __init__(self, call: Call, client_address: Any, server: _Server) -> None:
        self._call: Final = call
        super().__init__(call.connection, client_address, server)

    def do_GET(self) -> None:
        self._answer()

    do_HEAD = do_GET

    def do_POST(self) -> None:
        if self._site(self.path.partition("?")[0]) is None:
            self._refuse()
            return
        said, host = self.headers.get("Origin", ""), self.headers.get("Host", "")
        scheme, _, named = said.partition("://")
        # A proxy in front of a site without TLS may add it, but none removes it.
        schemes = ("https",) if isinstance(self.connection, ssl.SSLSocket) else ("https", "http")
        if not host or named != host or scheme not in schemes:
            text = b"forms are taken from the pages of this site alone\n"
            self._send(Answer(HTTPStatus.FORBIDDEN, text))
            return
        size = self.headers.get("Content-Length", "")
        if not size.isdecimal() or len(size) > 9 or int(size) > _FORM_BYTES:
            text = f"a form has a length, of at most {_FORM_BYTES} bytes\n".encode()
            self._send(Answer(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, text))
            return
        try:
            form = dict(parse_qsl(self.rfile.read(int(size)).decode(), max_num_fields=_FIELDS))
        except ValueError:
            self._send(Answer(HTTPStatus.BAD_REQUEST, b"this is no form\n"))
            return
        self._answer(form)

    def _refuse(self) -> None:
        text = b"only GET and HEAD are supported\n"
        self._send(Answer(HTTPStatus.METHOD_NOT_ALLOWED, text, headers={"Allow": "GET, HEAD"}))

    do_PUT = do_PATCH = do_DELETE = do_OPTIONS = _refuse

    def _answer(self, form: Mapping[str, str] | None = None) -> None:
        path, _, query = self.path.partition("?")
        fixed = self.server.paths.get(path)
        answer = fixed or self._of_site(path, query, form)
        if answer is None:
            names = [*self.server.paths, *self.server.sites]
            known = ", ".join(each for each in names if each != "/")
            self._send(Answer(HTTPStatus.NOT_FOUND, f"there are {known}\n".encode()))
            return
        places = self.server.of_sites if fixed is None else self.server.of_paths
        if not places.take(self._call.address):
            text = b"the node serves its maximum of callers; try again in a moment\n"
            headers = {"Retry-After": "1"}
            self._send(Answer(HTTPStatus.SERVICE_UNAVAILABLE, text, headers=headers))
            return
        self._call.answers()
        try:
            self._send(_made(answer, path))
        finally:
            places.give(self._call.address)

    def _site(self, path: str) -> Site | None:
        return self.server.sites.get(f"/{path[1:].partition('/')[0]}")

    def _of_site(
        self, path: str, query: str, form: Mapping[str, str] | None
    ) -> Callable[[], Answer] | None:
        if (site := self._site(path)) is None:
            return None
        try:
            asked = dict(parse_qsl(query, max_num_fields=_FIELDS))
        except ValueError:
            return lambda: Answer(HTTPStatus.BAD_REQUEST, b"the query has too many fields\n")
        request = Request(
            unquote(path[1:].partition("/")[2]),
            asked,
            self._password(),
            form,
            address=str(self.client_address[0]),
            accept=self.headers.get("Accept", ""),
        )
        return partial(site, request)

    def _password(self) -> str:
        scheme, _, given = self.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "basic":
            return ""
        try:
            return b64decode(given, validate=True).decode().partition(":")[2]
        except ValueError:
            return ""

    def _send(self, answer: Answer) -> None:
        self._call.sends()
        self.send_response(answer.status)
        for name, value in {**_HEADERS, **answer.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)

    def log_message(self, format: str, *args: object) -> None:
        _log.debug(format, *args)


def _made(answer: Callable[[], Answer], path: str) -> Answer:
    try:
        return answer()
    except Exception:  # noqa: BLE001 - the caller gets a 500
        _log.exception("cannot serve %s", path)
        text = b"this failed; see the node's log\n"
        return Answer(HTTPStatus.INTERNAL_SERVER_ERROR, text)
