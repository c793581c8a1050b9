"""A way between two processes that can be cut at any byte."""

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

_PIECE: Final = 1 << 14


class CutWay:
    """Passes connections on to an address, from a loopback address of its own.

    `cut_after` makes every connection break once so many more bytes went towards the target.
    """

    def __init__(self, target: str) -> None:
        host, _, port = target.rpartition(":")
        self._target: Final = (host, int(port))
        self._listener: Final = socket.create_server(("127.0.0.1", 0))
        self.address: Final = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._lock: Final = threading.Lock()
        self._open: Final[set[socket.socket]] = set()
        self._left: int | None = None
        self._closed = False
        #: How often it was cut.
        self.cuts = 0
        self._threads: Final = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._closed = True
        # An accept that waits is not ended by a close.
        with suppress(OSError), socket.create_connection(self._listener.getsockname()):
            pass
        self._listener.close()
        self._break()
        for thread in self._threads:
            thread.join()

    def cut_after(self, size: int) -> None:
        """Break every connection once so many bytes more have passed; then pass on again."""
        with self._lock:
            self._left = size

    def _accept(self) -> None:
        while True:
            ours, _ = self._listener.accept()
            if self._closed:
                ours.close()
                return
            try:
                theirs = socket.create_connection(self._target)
            except OSError:
                ours.close()
                continue
            with self._lock:
                self._open.update((ours, theirs))
            for source, sink, counted in ((ours, theirs, True), (theirs, ours, False)):
                thread = threading.Thread(target=self._pass, args=(source, sink, counted))
                self._threads.append(thread)
                thread.start()

    def _pass(self, source: socket.socket, sink: socket.socket, counted: bool) -> None:
        with suppress(OSError):
            for piece in _pieces(source):
                passed = self._allowed(piece) if counted else piece
                sink.sendall(passed)
                if len(passed) < len(piece):
                    self.cuts += 1
                    self._break()
        _shut(source)
        _shut(sink)
        with self._lock:
            self._open.difference_update((source, sink))
        source.close()

    def _allowed(self, piece: bytes) -> bytes:
        with self._lock:
            if self._left is None:
                return piece
            if self._left >= len(piece):
                self._left -= len(piece)
                return piece
            allowed, self._left = piece[: self._left], None
            return allowed

    def _break(self) -> None:
        with self._lock:
            for each in self._open:
                _shut(each)


def _pieces(source: socket.socket) -> Iterator[bytes]:
    while piece := source.recv(_PIECE):
        yield piece


def _shut(side: socket.socket) -> None:
    with suppress(OSError):
        side.shutdown(socket.SHUT_RDWR)
