"""A small HTTP server for what machines ask of a node: it only shows, and takes nothing."""

from __future__ import annotations

import logging
import socket
import socketserver
import threading
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import Any, Final, NamedTuple

_log = logging.getLogger(__name__)

#: Callers that are answered at a time; more of them are hung up on.
CALLERS: Final = 16
#: A caller that is silent for so long is hung up on.
SILENCE_S: Final = 5.0
#: How soon the thread sees that it is to end.
_LOOK_S: Final = 0.1


class Answer(NamedTuple):
    """What a caller is told."""

    status: HTTPStatus
    body: bytes
    content_type: str = "text/plain; charset=utf-8"


class HttpServer:
    """Answers GET and HEAD of fixed paths, each in a thread of its caller.

    It listens from the moment that it is made; raises `OSError` where it cannot.
    """

    def __init__(self, host: str, port: int, paths: Mapping[str, Callable[[], Answer]]) -> None:
        self._server: Final = _Server(host, port, paths)
        self._thread: Final = threading.Thread(
            target=self._server.serve_forever, args=(_LOOK_S,), name="http", daemon=True
        )
        self._thread.start()

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self._server.server_address[1])

    def close(self) -> None:
        """Listen no more; blocks for a moment."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    # A caller that is slow holds up nobody, the end of the node neither.
    block_on_close = False

    def __init__(self, host: str, port: int, paths: Mapping[str, Callable[[], Answer]]) -> None:
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
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        _log.debug("an HTTP call from %s broke off", client_address, exc_info=True)


class _Caller(BaseHTTPRequestHandler):
    server: _Server
    timeout = SILENCE_S
    server_version = "quorate"
    sys_version = ""

    def do_GET(self) -> None:
        self._answer()

    do_HEAD = do_GET

    def do_POST(self) -> None:
        text = b"only GET and HEAD are answered here\n"
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
        except Exception:  # noqa: BLE001 - the caller is told that there is no answer
            _log.exception("%s cannot be answered", path)
            text = b"this failed; the node's log tells why\n"
            found = Answer(HTTPStatus.INTERNAL_SERVER_ERROR, text)
        self._send(found)

    def _send(self, answer: Answer, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(len(answer.body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)

    def log_message(self, format: str, *args: object) -> None:
        _log.debug(format, *args)
