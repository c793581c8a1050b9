"""A small HTTP server for metrics, probes, and pages."""

import logging
import socket
import socketserver
import ssl
import threading
from base64 import b64decode
from collections.abc import Callable, Mapping
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl, unquote

_log = logging.getLogger(__name__)

#: Maximum number of concurrent connections; more are closed.
CALLERS: Final = 16
#: Timeout of an idle connection.
SILENCE_S: Final = 5.0
#: Most fields of a query or of a form, and most bytes of a form.
_FIELDS: Final = 32
_FORM_BYTES: Final = 1 << 16
#: Interval at which the thread checks for the end.
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


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    # A slow caller must not delay others or the end of the node.
    block_on_close = False

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
        self._room: Final = threading.BoundedSemaphore(CALLERS)
        super().__init__((host, port), _Caller)

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._room.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            if self._tls is not None:
                # In the connection's own thread: a caller that stalls delays nobody.
                request.settimeout(SILENCE_S)
                try:
                    request = self._tls.wrap_socket(request, server_side=True)
                except OSError:
                    self.handle_error(request, client_address)
                    self.shutdown_request(request)
                    return
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        _log.debug("an HTTP connection from %s was lost", client_address, exc_info=True)


class _Caller(BaseHTTPRequestHandler):
    server: _Server
    timeout = SILENCE_S
    server_version = "quorate"
    sys_version = ""

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
        answer = self.server.paths.get(path) or self._of_site(path, query, form)
        if answer is None:
            known = ", ".join([*self.server.paths, *self.server.sites])
            self._send(Answer(HTTPStatus.NOT_FOUND, f"there are {known}\n".encode()))
            return
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
