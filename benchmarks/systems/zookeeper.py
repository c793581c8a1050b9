"""Three nodes of ZooKeeper."""

from __future__ import annotations

import asyncio
import shutil
import socket
from collections.abc import Collection
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from quorate.testing.ports import HeldPort
from quorate.testing.waiting import until

from systems.processes import Programs
from systems.system import NODES, OF_SESSIONS, Load, MissingError
from tests.support import maven

#: Debian's, where Maven fetches no newer one.
_JARS: Final = Path("/usr/share/java")
_NEWEST: Final = Path(maven.__file__).parent / "zookeeper/server"
_MAIN: Final = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
_SETTINGS: Final = """\
tickTime=2000
initLimit=10
syncLimit=5
dataDir={directory}
clientPort={client}
clientPortAddress=127.0.0.1
admin.enableServer=false
maxClientCnxns=0
clientPortListenBacklog=1024
4lw.commands.whitelist=srvr
{members}
"""


class ZooKeeper(Programs):
    """It runs with the timing that Debian ships, ticks of 2 s, and with fsync on.

    As many connections may wait for it as for Quorate: with its own 50, some of a hundred that are
    opened at once wait for seconds until their client tries again, or are closed.
    """

    name = "ZooKeeper"

    def __init__(self, directory: Path, kinds: Collection[str]) -> None:
        super().__init__(directory)
        self._has_sessions: Final = not OF_SESSIONS.isdisjoint(kinds)
        self._ports: Final[dict[str, int]] = {}
        self._session: Any = None
        self._class_path = ""

    def start(self) -> None:
        """Start the nodes, and wait until they serve."""
        self._class_path = _class_path()
        if find_spec("kazoo") is None:
            raise MissingError("there is no kazoo here; pip install -r requirements/benchmarks.txt")
        held = {name: [self._exit.enter_context(HeldPort()) for _ in range(3)] for name in NODES}
        members = "\n".join(
            f"server.{number}=127.0.0.1:{held[name][1].number}:{held[name][2].number}"
            for number, name in enumerate(NODES, 1)
        )
        for number, name in enumerate(NODES, 1):
            directory = self.directory / name
            directory.mkdir(parents=True)
            (directory / "myid").write_text(str(number))
            self._ports[name] = held[name][0].number
            self._file(name).write_text(
                _SETTINGS.format(directory=directory, client=self._ports[name], members=members)
            )
            self._add(name)
        for name in NODES:
            self._run(name)
        until(lambda: all(map(self._serves, NODES)) or None)

    def leader(self) -> str:
        """Wait for a leader, and return its name."""
        return until(lambda: next((name for name in NODES if self._role(name) == "leader"), None))

    def said(self) -> str:
        """Return the last warnings of the nodes."""
        tails = (f"{name}: {each.said[-2_000:]}" for name, each in self._programs.items())
        return "\n".join(tails)

    def address(self, node: str) -> str:
        """Return where a node serves clients."""
        return f"127.0.0.1:{self._ports[node]}"

    async def connect(self) -> None:
        """Connect to the leader, and to all nodes for `write`."""
        # Here, since kazoo may be missing.
        from systems.zookeeper_session import Session

        leader = f"127.0.0.1:{self._ports[await asyncio.to_thread(self.leader)]}"
        nodes = ",".join(f"127.0.0.1:{port}" for port in self._ports.values())
        self._session = await asyncio.to_thread(
            Session, leader, nodes, has_sessions=self._has_sessions
        )

    async def disconnect(self) -> None:
        """End the connections."""
        if self._session is not None:
            await asyncio.to_thread(self._session.close)
            self._session = None

    def load(self, kind: str) -> Load | None:
        """Return a load of a kind, or None."""
        found: Load | None = self._session.load(kind)
        return found

    async def write(self) -> None:
        """Write one value through some node."""
        await self._session.write()

    def _command(self, name: str) -> list[str]:
        # Warnings only, among them those of slow syncs.
        log = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
        return ["java", "-Xmx1g", log, "-cp", self._class_path, _MAIN, str(self._file(name))]

    def _serves(self, name: str) -> bool:
        return self._role(name) is not None

    def _file(self, name: str) -> Path:
        return self.directory / f"{name}.cfg"

    def _role(self, name: str) -> str | None:
        """Return `leader` or `follower`; None when it does not serve."""
        told: dict[str, str] = {}
        with suppress(OSError), socket.create_connection(("127.0.0.1", self._ports[name]), 1) as at:
            at.sendall(b"srvr")
            with at.makefile(encoding="utf-8") as lines:
                told = dict(line.strip().split(": ", 1) for line in lines if ": " in line)
        if "Mode" not in told:
            return None
        self.version = told["Zookeeper version"].partition("-")[0]
        return told["Mode"]


def _class_path() -> str:
    """Return the class path of the newest server that can be had; raises `MissingError`."""
    if not (missing := maven.missing(_NEWEST)):
        return maven.class_path(_NEWEST)
    if shutil.which("java") is None or not (_JARS / "zookeeper.jar").exists():
        raise MissingError(
            f"there is no ZooKeeper here: {missing}; on Debian: apt-get install zookeeper"
        )
    return f"{_JARS / 'zookeeper.jar'}:{_JARS / 'slf4j-simple.jar'}"
