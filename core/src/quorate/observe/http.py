"""A small read-only HTTP server for metrics and probes."""

import logging
import socket
import socketserver
import ssl
import threading
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import Any, Final, NamedTuple

_log = logging.getLogger(__name__)

#: Maximum number of concurrent connections; more are closed.
CALLERS: Final = 16
#: Timeout of an idle connection.
SILENCE_S: Final = 5.0
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


class Answer(NamedTuple):
    """A response."""

    status: HTTPStatus
    body: bytes
    content_type: str = "text/plain; charset=utf-8"


class HttpServer:
    """Serves GET and HEAD of fixed paths, with a thread per connection.

    The constructor listens; it raises `OSError` if it cannot.
    """

    def __init__(
        self,
        host: str,
        port: int,
        paths: Mapping[str, Callable[[], Answer]],
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._server: Final = _Server(host, port, paths, tls)
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
    ) -> None:
        self._tls: Final = tls
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
        text = b"only GET and HEAD are supported\n"
        self._send(Answer(HTTPStatus.METHOD_NOT_ALLOWED, text), {"Allow": "GET, HEAD"})

    do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_POST

    def _answer(self) -> None:
        path = self.path.partition("?")[0]
        answer = self.server.paths.get(path)
        if answer is None:
            known = ", ".join(self.server.paths)
            self._send(Answer(HTTPStatus.NOT_FOUND, f"there are {known}\n".encode()))
            return
        try:
            found = answer()
        except Exception:  # noqa: BLE001 - the caller gets a 500
            _log.exception("cannot serve %s", path)
            text = b"this failed; see the node's log\n"
            found = Answer(HTTPStatus.INTERNAL_SERVER_ERROR, text)
        self._send(found)

    def _send(self, answer: Answer, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(answer.status)
        for name, value in _HEADERS.items():
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
