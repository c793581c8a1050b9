"""A stock server of ZooKeeper, which comes with Kafka."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from quorate.testing.ports import free_ports
from quorate.testing.program import Program
from quorate.testing.waiting import until

from tests.support.zookeeper.kafka import java

_MAIN: Final = "org.apache.zookeeper.server.ZooKeeperServerMain"
_SETTINGS: Final = """\
tickTime=2000
dataDir={directory}
clientPort={port}
clientPortAddress=127.0.0.1
admin.enableServer=false
extendedTypesEnabled=true
"""


class ZooKeeper:
    """Entering the context starts it, leaving it kills it."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        [self.port] = free_ports(0)
        self.address: Final = f"127.0.0.1:{self.port}"
        self._program: Final = Program(directory.name, directory / "said.log")
        self._file: Final = directory / "zoo.cfg"
        self._file.write_text(_SETTINGS.format(directory=directory / "data", port=self.port))

    def __enter__(self) -> Self:
        switch = {"JAVA_TOOL_OPTIONS": "-Dzookeeper.extendedTypesEnabled=true"}
        self._program.start(java(_MAIN, str(self._file), heap_mb=128), {**os.environ, **switch})
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
                connection.sendall(b"srvr")
                return connection.recv(100).startswith(b"Zookeeper version") or None
        except OSError:
            return None
