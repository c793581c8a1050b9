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


@functools.cache
def program() -> str | None:
    """Return the path of the newest server that can be had; None: there is none.

    What was built is kept in the user's cache, by the version that `go.mod` names.
    """
    built = cache() / f"etcd-{_version()}"
    if not built.exists() and (go := shutil.which("go")) is not None:
        built.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=built.parent) as directory:
            shutil.copytree(_SOURCE, directory, dirs_exist_ok=True)
            made = subprocess.run(
                [go, "build", "-mod=mod", "-o", "server", "."],
                cwd=directory,
                capture_output=True,
                check=False,
                timeout=_BUILD_S,
            )
            if made.returncode == 0:
                Path(directory, "server").rename(built)
    return str(built) if built.exists() else shutil.which("etcd")


def cache() -> Path:
    """Return the folder of what was built from the sources of others."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "quorate-peers")


def _version() -> str:
    required = (_SOURCE / "go.mod").read_text().partition("server/v3 v")[2]
    return required.split()[0]
