"""Loopback ports that nobody else is given while a test holds them."""

import socket
from types import TracebackType
from typing import Final, Self


class HeldPort:
    """A port for a server of another process, which may take it, leave it, and take it again.

    The port is bound here and not listened on, so no other program is given it, and who connects
    while the server is gone is refused. The server takes it because both sides share the address:
    gRPC by SO_REUSEPORT, servers of the standard library by SO_REUSEADDR.
    """

    def __init__(self) -> None:
        self._holder: Final = socket.socket()
        self._holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        self._holder.bind(("127.0.0.1", 0))
        self.number: Final[int] = self._holder.getsockname()[1]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._holder.close()

    @property
    def address(self) -> str:
        """The port as `host:port`."""
        return f"127.0.0.1:{self.number}"
