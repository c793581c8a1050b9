"""A stream of a connection: its windows, its waiting data, and its owner."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Protocol

from quorate.http2.errors import ErrorCode
from quorate.http2.headers import Headers


class StreamOwner(Protocol):
    """Handles the events of a stream. It must not raise."""

    def headers(self, headers: Headers, ended: bool) -> None:
        """Take a list of fields: of an answer, or trailers."""

    def data(self, content: bytes, ended: bool) -> None:
        """Take bytes; `Stream.consumed` lets the other end send more."""

    def writable(self) -> None:
        """All waiting bytes were handed over for sending."""

    def lost(self, code: ErrorCode | int, why: str) -> None:
        """The other end, or the connection, has ended the stream; nothing more comes."""


class Stream:
    """A stream; only its connection changes it."""

    __slots__ = (
        "closing",
        "content_length",
        "local_closed",
        "number",
        "on_end",
        "owner",
        "queued",
        "receive_window",
        "received",
        "remote_closed",
        "send_window",
        "trailers",
        "unacknowledged",
        "waiting",
    )

    def __init__(self, number: int, send_window: int, receive_window: int) -> None:
        self.number = number
        self.owner: StreamOwner
        #: Called once, when the stream is over at both ends, for any reason.
        self.on_end: Callable[[], None] | None = None
        self.send_window = send_window
        self.receive_window = receive_window
        #: Bytes that its owner has consumed, and the other end does not know of.
        self.unacknowledged = 0
        self.received = 0
        self.content_length: int | None = None
        self.remote_closed = False
        self.local_closed = False
        #: Bytes that wait for a window, and their number; None: no bytes wait.
        self.waiting: deque[memoryview] | None = None
        self.queued = 0
        #: Whether the end of the stream follows them, with trailers or without.
        self.closing = False
        self.trailers: bytes | None = None

    def leave(self) -> None:
        """Call `on_end`, once."""
        if self.on_end is not None:
            ended, self.on_end = self.on_end, None
            ended()
