"""A stock server of etcd: built from its Go module where Go is, else the one that is installed."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

_SOURCE: Final = Path(__file__).parent / "server"
_BUILD_S: Final = 600
#: A run of the tests has a cache of its own, in which nothing is built yet.
CACHE: Final = "XDG_CACHE_HOME"


def program() -> str | None:
    """Return the path of the newest server that can be had; None: there is none."""
    return built() or shutil.which("etcd")


@functools.cache
def built() -> str | None:
    """Return the path of the server of the release that `go.mod` names; None: it cannot be built.

    It is kept in the user's cache.
    """
    server = _place()
    if not server.exists() and (go := shutil.which("go")) is not None:
        server.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=server.parent) as directory:
            shutil.copytree(_SOURCE, directory, dirs_exist_ok=True)
            made = subprocess.run(
                [go, "build", "-mod=mod", "-o", "server", "."],
                cwd=directory,
                env={name: value for name, value in os.environ.items() if name != CACHE},
                capture_output=True,
                check=False,
                timeout=_BUILD_S,
            )
            if made.returncode == 0:
                Path(directory, "server").rename(server)
    return str(server) if server.exists() else None


def kept() -> str | None:
    """Return the path of the server that was built before; None: none was."""
    return str(_place()) if _place().exists() else None


def _place() -> Path:
    return cache() / f"etcd-{_version()}"


def cache() -> Path:
    """Return the folder of what was built from the sources of others."""
    return Path.home() / ".cache" / "quorate-peers"


def _version() -> str:
    required = (_SOURCE / "go.mod").read_text().partition("server/v3 v")[2]
    return required.split()[0]
