"""Clients of etcd that nobody here wrote, each skipped where it cannot be had."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import pytest

from tests.support.etcd.newest import CACHE

_HERE: Final = Path(__file__).parent
#: The release of etcd's Go modules.
RELEASE: Final = "v3.6.5"


def ran(
    *command: str | Path, within_s: float = 600, cwd: Path | None = None, **more: str
) -> tuple[int, str]:
    """Run a program, and return its exit code and what it has said."""
    done = subprocess.run(
        [str(each) for each in command],
        cwd=cwd,
        env={**_environment(), **more},
        capture_output=True,
        text=True,
        timeout=within_s,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def built(name: str, directory: Path, modules: Sequence[str], package: str = ".") -> Path:
    """Build a Go program, a source beside this file or a package of a module."""
    if shutil.which("go") is None:
        pytest.skip("it is built with Go, which is not here")
    source = _HERE / f"{name}.go"
    if source.exists():
        shutil.copy(source, directory / "main.go")
    else:
        (directory / "tools.go").write_text(
            f'//go:build tools\n\npackage tools\n\nimport _ "{package}"\n'
        )
    program = directory / name
    for command in (
        ["mod", "init", "example.com/tools"],
        ["get", *modules],
        ["build", "-o", str(program), package],
    ):
        code, said = ran("go", *command, cwd=directory, within_s=1_200, GOFLAGS="-mod=mod")
        if code:
            pytest.skip(f"go {command[0]} fails: {said[-300:]}")
    return program


def python_with(directory: Path, *requirements: str) -> Path:
    """Make an environment with packages, and return its interpreter: protobuf's pool has room for
    one etcd alone."""
    subprocess.run([sys.executable, "-m", "venv", str(directory)], check=True)
    python = directory / "bin" / "python"
    code, said = ran(python, "-m", "pip", "install", "-q", *requirements)
    if code:
        pytest.skip(f"{requirements[0]} cannot be installed: {said[-300:]}")
    return python


def _environment() -> Mapping[str, str]:
    left_out = {"PYTHONPATH", CACHE}
    return {name: value for name, value in os.environ.items() if name not in left_out}
