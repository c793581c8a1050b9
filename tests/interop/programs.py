"""Programs of others: they are fetched and built here, and run with a bound in time."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

needs_go = pytest.mark.skipif(shutil.which("go") is None, reason="it is built with Go")
needs_npm = pytest.mark.skipif(
    shutil.which("npm") is None or shutil.which("node") is None, reason="it is run by node"
)


async def ran(
    *command: str, within_s: float = 300, cwd: Path | None = None, **environment: str
) -> tuple[int, str]:
    """Return the exit code of a program and what it prints."""
    process = await asyncio.create_subprocess_exec(
        "env",
        *(f"{name}={value}" for name, value in environment.items()),
        *command,
        cwd=cwd,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(within_s):
            printed, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode is not None
    return process.returncode, printed.decode(errors="replace")


async def built(module: str, directory: Path) -> Path:
    """Return a program of Go's, fetched and built; skips where it cannot be."""
    _, printed = await ran(
        "go", "install", module, within_s=1_200, GOBIN=str(directory), GOFLAGS="-mod=mod"
    )
    program = directory / module.partition("@")[0].rpartition("/")[2]
    if not program.exists():
        pytest.skip(f"Go cannot fetch or build {module}: {printed[-300:]}")
    return program


async def compiled(source: Path, modules: Sequence[str], directory: Path) -> Path:
    """Return a program of a source here, built with modules; skips where these cannot be had."""
    shutil.copy(source, directory / "main.go")
    said = ""
    for command in (("mod", "init", "judge"), ("get", *modules), ("build", "-o", "judge", ".")):
        code, said = await ran("go", *command, within_s=1_200, cwd=directory, GOFLAGS="-mod=mod")
        if code:
            pytest.skip(f"go {command[0]} fails: {said[-300:]}")
    return directory / "judge"
