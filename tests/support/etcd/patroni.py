"""PostgreSQL under Patroni, whose members are processes on this machine."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from quorate.testing.ports import free_ports
from quorate.testing.program import Program

_FILE: Final = Path(__file__).parents[2] / "etcd" / "patroni.yml"
#: As a user that is not root, as whom PostgreSQL refuses to run, and with a table of processes of
#: its own: when the first process ends, the kernel kills all others.
_APART: Final = (
    *("unshare", "--user", "--map-user=nobody", "--pid", "--fork"),
    *("--kill-child", "--mount-proc"),
)
_ANSWERS_S: Final = 10


def binaries() -> Path | None:
    """Return the directory of PostgreSQL's programs; None: it is not installed."""
    found = [*Path("/usr/lib/postgresql").glob("*/bin/postgres")]
    if (other := shutil.which("postgres")) is not None:
        found.append(Path(other).resolve())
    return found[0].parent if found else None


def missing() -> str | None:
    """Return the reason why a member cannot run here."""
    if binaries() is None:
        return "PostgreSQL is not installed"
    if shutil.which("unshare") is None:
        return "unshare of util-linux is not installed"
    tried = subprocess.run([*_APART, "true"], capture_output=True, text=True, check=False)
    return f"no namespaces of one's own: {tried.stderr.strip()}" if tried.returncode else None


class Member:
    """One member: Patroni and its PostgreSQL, with the file that the documentation shows."""

    def __init__(self, name: str, directory: Path, python: Path, stores: Iterable[int]) -> None:
        self.name: Final = name
        directory.mkdir(parents=True)
        self._port, self._rest = free_ports(0, 1)
        database, rest = (f"127.0.0.1:{port}" for port in (self._port, self._rest))
        self._command: Final = (*_APART, str(python), "-m", "patroni", str(_FILE))
        self._environment: Final = os.environ | {
            "PATRONI_NAME": name,
            "PATRONI_RESTAPI_LISTEN": rest,
            "PATRONI_RESTAPI_CONNECT_ADDRESS": rest,
            "PATRONI_ETCD3_HOSTS": ",".join(f"127.0.0.1:{port}" for port in stores),
            "PATRONI_POSTGRESQL_LISTEN": database,
            "PATRONI_POSTGRESQL_CONNECT_ADDRESS": database,
            "PATRONI_POSTGRESQL_DATA_DIR": str(directory / "rows"),
            "PATRONI_POSTGRESQL_BIN_DIR": str(binaries()),
            "PATRONI_POSTGRESQL_PGPASS": str(directory / "pgpass"),
        }
        self._environment.pop("PYTHONPATH", None)
        self._program: Final = Program(name, directory / "said.log")

    @property
    def said(self) -> str:
        """What Patroni and PostgreSQL have logged."""
        return self._program.said

    def start(self) -> None:
        """Start it, for the first time or again."""
        self._program.start(self._command, self._environment)

    def kill(self) -> None:
        """Kill Patroni and all processes of PostgreSQL at once."""
        self._program.close()

    def state(self) -> dict[str, Any]:
        """Return what Patroni tells of this member; it is empty while there is no answer."""
        try:
            with urllib.request.urlopen(
                f"http://127.0.0.1:{self._rest}/patroni", timeout=_ANSWERS_S
            ) as answer:
                told: dict[str, Any] = json.load(answer)
        except (OSError, urllib.error.HTTPError):
            return {}
        return told

    def asked(self, statement: str) -> str | None:
        """Return the answer to a statement, without a final newline; None: it may have failed."""
        try:
            done = subprocess.run(
                [
                    *(str(Path(self._environment["PATRONI_POSTGRESQL_BIN_DIR"]) / "psql"), "-qAtX"),
                    *("-h", "127.0.0.1", "-p", str(self._port), "-U", "postgres"),
                    *("-c", statement, "postgres"),
                ],
                env=self._environment | {"PGPASSWORD": "change-me", "PGCONNECT_TIMEOUT": "5"},
                capture_output=True,
                text=True,
                timeout=_ANSWERS_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return None
        return done.stdout.removesuffix("\n") if done.returncode == 0 else None
