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

#: Answers that are made at a time: of fixed paths, which are those of probes, and of sites; and as
#: many of each for callers on this machine. One other address has half of them at most.
CALLERS: Final = 16
#: Connections, of each of these two kinds of callers, whose requests have not come whole.
READ: Final = 32
#: The time for a whole request from the first moment on, and for its answer to be taken.
REQUEST_S: Final = 5.0
#: Connections that wait to be accepted.
_BACKLOG: Final = 128
#: Most fields of a query or of a form, and most bytes of a form.
_FIELDS: Final = 32
_FORM_BYTES: Final = 1 << 16
#: Interval at which the thread checks for the end, and for connections that take too long.
_LOOK_S: Final = 0.1


#: What is answered is for nobody's page, frame or cache.
_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class Request(NamedTuple):
    """What is asked of a site."""

    #: Below the site's own, without a leading slash.
    path: str
    #: The last value of each name.
    query: Mapping[str, str]
    #: The password of basic authentication; "": none was given.
    password: str
    #: The fields of a form that a page of this site sent; None: it is only asked for something.
    form: Mapping[str, str] | None = None
    #: The address of the caller.
    address: str = ""
    #: The types of content that the caller takes, as it says so.
    accept: str = ""


class Answer(NamedTuple):
    """A response."""

    status: HTTPStatus
    body: bytes
    content_type: str = "text/plain; charset=utf-8"
    #: Of its own, instead of what every answer has or beside it.
    headers: Mapping[str, str] = {}


#: Answers all paths below one.
Site = Callable[[Request], Answer]


class HttpServer:
    """Serves GET and HEAD of fixed paths and of sites, with a thread per connection.

    The constructor listens; it raises `OSError` if it cannot. A site is named by its path, which
    has one part. It gets forms, too, but only those that its own pages have sent: a browser says
    which page that was.
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
    """Bounds how many callers have something, and how many of them have one address."""

    def __init__(self, most: int) -> None:
        self._most: Final = most
        self._lock: Final = threading.Lock()
        self._taken: Final[Counter[str]] = Counter()

    def take(self, address: str) -> bool:
        """Take a place; False: there is none."""
        near = _is_near(address)
        with self._lock:
            taken = sum(count for each, count in self._taken.items() if _is_near(each) == near)
            if taken >= self._most or (not near and self._taken[address] >= self._most // 2):
                return False
            self._taken[address] += 1
            return True

    def give(self, address: str) -> None:
        """Give it back."""
        with self._lock:
            self._taken[address] -= 1
            if not self._taken[address]:
                del self._taken[address]


class Call:
    """A connection: how long it may go on as it does, and whether it may be ended for another."""

    __slots__ = ("address", "connection", "reads", "until_s")

    def __init__(self, connection: socket.socket, address: str) -> None:
        self.connection = connection
        self.address: Final = address
        #: Whether its request has not come whole.
        self.reads = True
        self.until_s = monotonic() + REQUEST_S

    def answers(self) -> None:
        """Give it the time that its answer takes to make."""
        self.reads, self.until_s = False, float("inf")

    def sends(self) -> None:
        """Give it time to take the answer."""
        self.reads, self.until_s = False, monotonic() + REQUEST_S

    def end(self) -> None:
        """Wake up who serves it: there is nothing more to read or write."""
        with suppress(OSError):
            # That of TLS would let go of what its thread reads with.
            socket.socket.shutdown(self.connection, socket.SHUT_RDWR)


class Calls:
    """The connections of a server, the oldest first."""

    def __init__(self) -> None:
        self._lock: Final = threading.Lock()
        self._held: Final[dict[Call, None]] = {}

    def begin(self, call: Call) -> None:
        """Add a connection, for which the oldest that has not asked yet ends if there are too many.

        It is the oldest of the address that has most of them: a flood from one keeps no other out.
        """
        near = _is_near(call.address)
        with self._lock:
            read = [each for each in self._held if each.reads and _is_near(each.address) == near]
            counts = Counter(each.address for each in read)
            own = call.address if not near and counts[call.address] >= READ // 2 else ""
            if own or len(read) >= READ:
                evicted = own or counts.most_common(1)[0][0]
                oldest = next(each for each in read if each.address == evicted)
                # It is ended again and again, until its thread has seen that.
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
    """Return whether an address is of this machine alone."""
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
        # Answers that are being made are finished.
        self._calls.end_late(monotonic() + REQUEST_S)

    def handle_error(self, request: Any, client_address: Any) -> None:
        _log.debug("an HTTP connection from %s was lost", client_address, exc_info=True)

    def _serve(self, call: Call, client_address: Any) -> None:
        try:
            if self._tls is not None:
                # In the connection's own thread: a caller that stalls delays nobody.
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
        # What is in front of a site without TLS may encrypt for it, and never the other way.
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
        self._send(Answer(HTTPStatus.METHOD_NOT_ALLOWED, text), {"Allow": "GET, HEAD"})

    do_PUT = do_PATCH = do_DELETE = do_OPTIONS = _refuse

    def _answer(self, form: Mapping[str, str] | None = None) -> None:
        path, _, query = self.path.partition("?")
        fixed = self.server.paths.get(path)
        answer = fixed or self._of_site(path, query, form)
        if answer is None:
            known = ", ".join([*self.server.paths, *self.server.sites])
            self._send(Answer(HTTPStatus.NOT_FOUND, f"there are {known}\n".encode()))
            return
        places = self.server.of_sites if fixed is None else self.server.of_paths
        if not places.take(self._call.address):
            text = b"the node answers as many callers as it may; ask again in a moment\n"
            self._send(Answer(HTTPStatus.SERVICE_UNAVAILABLE, text), {"Retry-After": "1"})
            return
        self._call.answers()
        try:
            self._make(answer, path)
        finally:
            places.give(self._call.address)

    def _make(self, answer: Callable[[], Answer], path: str) -> None:
        try:
            found = answer()
        except Exception:  # noqa: BLE001 - the caller gets a 500
            _log.exception("cannot serve %s", path)
            text = b"this failed; see the node's log\n"
            found = Answer(HTTPStatus.INTERNAL_SERVER_ERROR, text)
        self._send(found)

    def _site(self, path: str) -> Site | None:
        return self.server.sites.get(f"/{path[1:].partition('/')[0]}")

    def _of_site(
        self, path: str, query: str, form: Mapping[str, str] | None
    ) -> Callable[[], Answer] | None:
        below = path[1:].partition("/")[2]
        site = self._site(path)
        if site is None:
            return None
        try:
            asked = dict(parse_qsl(query, max_num_fields=_FIELDS))
        except ValueError:
            return lambda: Answer(HTTPStatus.BAD_REQUEST, b"the query has too many fields\n")
        request = Request(
            unquote(below),
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

    def _send(self, answer: Answer, headers: Mapping[str, str] | None = None) -> None:
        self._call.sends()
        self.send_response(answer.status)
        for name, value in {**_HEADERS, **answer.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(len(answer.body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)

    def log_message(self, format: str, *args: object) -> None:
        _log.debug(format, *args)
