"""Loopback ports for servers of tests: free ports, and a reserved port."""

import socket
from contextlib import ExitStack
from random import SystemRandom
from typing import Final, Self

#: Below the ephemeral ports of the system, and above the ports of services.
_PORTS: Final = range(10_000, 32_000)
#: Tests run side by side with the same seed, and must not draw the same ports.
_random: Final = SystemRandom()


def free_ports(*distances: int) -> list[int]:
    """Return free ports at these distances from a random first port."""
    while True:
        first = _random.choice(_PORTS)
        ports = [first + each for each in distances]
        with ExitStack() as held:
            try:
                for port in ports:
                    held.enter_context(socket.create_server(("127.0.0.1", port)))
            except OSError:
                continue
            return ports


class HeldPort:
    """A reserved port for a server in another process, which may bind it repeatedly.

    The port is bound here without listening, so no other program gets it, and connections are
    refused while the server is gone. The server can bind it because both sides share the address:
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

    def __exit__(self, *_: object) -> None:
        self._holder.close()

    @property
    def address(self) -> str:
        """The port as `host:port`."""
        return f"127.0.0.1:{self.number}"
