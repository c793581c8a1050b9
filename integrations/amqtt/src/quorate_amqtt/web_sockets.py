"""Packets over WebSockets; amqtt's reader repeats its last bytes when a client vanishes."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from amqtt.adapters import ReaderAdapter
from websockets.asyncio.connection import Connection
from websockets.exceptions import ConnectionClosed

from quorate_amqtt.fields import Malformed, Reason


class WebSocketReader(ReaderAdapter):
    """Reads the bytes of binary messages, wherever these begin and end."""

    def __init__(self, web_socket: Connection) -> None:
        self._web_socket: Final = web_socket
        self._unread: Final = bytearray()

    async def read(self, n: int = -1) -> bytes:
        """Return that many bytes, or fewer when the connection has ended."""
        with suppress(ConnectionClosed):
            while len(self._unread) < n:
                message = await self._web_socket.recv()
                if isinstance(message, str):
                    raise Malformed(Reason.MALFORMED_PACKET, "a message of text has no packets")
                self._unread.extend(message)
        data = bytes(self._unread[:n])
        del self._unread[:n]
        return data

    def feed_eof(self) -> None:
        """Do nothing: the connection says when it has ended."""
