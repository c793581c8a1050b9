"""A stock server of etcd."""

from __future__ import annotations

import os
import shutil
import socket
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from quorate.testing.ports import free_ports
from quorate.testing.program import Program
from quorate.testing.waiting import until

#: None: there is none on this machine.
PROGRAM: Final = shutil.which("etcd")


class Etcd:
    """Entering the context starts it, leaving it kills it."""

    def __init__(self, directory: Path, program: str | None = PROGRAM) -> None:
        self._path: Final = program or "etcd"
        self.port, self._peers = free_ports(0, 1)
        self._data: Final = directory / "data"
        self._program: Final = Program("etcd", directory / "said.log")

    def __enter__(self) -> Self:
        clients, peers = (f"http://127.0.0.1:{port}" for port in (self.port, self._peers))
        options = {
            "name": "stock",
            "data-dir": str(self._data),
            "listen-client-urls": clients,
            "advertise-client-urls": clients,
            "listen-peer-urls": peers,
            "initial-advertise-peer-urls": peers,
            "initial-cluster": f"stock={peers}",
            "log-level": "error",
        }
        said = (word for name, value in options.items() for word in (f"--{name}", value))
        self._program.start([self._path, *said], dict(os.environ))
        until(self._serves)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._program.close()

    def _serves(self) -> bool | None:
        try:
            with socket.create_connection(("127.0.0.1", self.port), 1) as connection:
                connection.sendall(b"GET /health HTTP/1.0\r\n\r\n")
                return b"200 OK" in connection.recv(100) or None
        except OSError:
            return None
