"""A stock server of etcd."""

from __future__ import annotations

import os
import shutil
import signal
import socket
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from quorate.client import Tls
from quorate.testing.ports import free_ports
from quorate.testing.program import Program
from quorate.testing.waiting import until

#: None: there is none on this machine.
PROGRAM: Final = shutil.which("etcd")


class Etcd:
    """Entering the context starts it, leaving it kills it."""

    def __init__(
        self,
        directory: Path,
        program: str | None = PROGRAM,
        tls: Tls | None = None,
        *,
        syncs: bool = True,
    ) -> None:
        """With `tls`, which has its certificate, it asks clients for certificates."""
        self._options: Final = [] if syncs else ["--unsafe-no-fsync"]
        self._path: Final = program or "etcd"
        self._tls: Final = tls
        self.port, self._peers, self._health = free_ports(0, 1, 2)
        self._data: Final = directory / "data"
        self._program: Final = Program("etcd", directory / "said.log")

    def __enter__(self) -> Self:
        self._start()
        return self

    def restart(self) -> None:
        """Kill it, and start it again."""
        self._program.end(signal.SIGKILL)
        self._start()

    def _start(self) -> None:
        clients, peers, health = (
            f"http://127.0.0.1:{port}" for port in (self.port, self._peers, self._health)
        )
        if self._tls is not None:
            clients = clients.replace("http", "https")
        options = {
            "name": "stock",
            "data-dir": str(self._data),
            "listen-metrics-urls": health,
            "listen-client-urls": clients,
            "advertise-client-urls": clients,
            "listen-peer-urls": peers,
            "initial-advertise-peer-urls": peers,
            "initial-cluster": f"stock={peers}",
            "log-level": "error",
        }
        if self._tls is not None:
            options |= {
                "cert-file": str(self._tls.cert),
                "key-file": str(self._tls.key),
                "trusted-ca-file": str(self._tls.ca),
            }
        said = (word for name, value in options.items() for word in (f"--{name}", value))
        asks = [] if self._tls is None else ["--client-cert-auth"]
        self._program.start([self._path, *said, *asks, *self._options], dict(os.environ))
        until(self._serves)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._program.close()

    def _serves(self) -> bool | None:
        try:
            with socket.create_connection(("127.0.0.1", self._health), 1) as connection:
                connection.sendall(b"GET /health HTTP/1.0\r\n\r\n")
                return b"200 OK" in connection.recv(100) or None
        except OSError:
            return None
