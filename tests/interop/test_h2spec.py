"""The server keeps the rules of HTTP/2 and HPACK, as h2spec judges them."""

from __future__ import annotations

import asyncio
import re
import shutil
from pathlib import Path

import pytest
from quorate.http2.connection import ConnectionLimits
from quorate.http2.grpc.server import Server, ServerLimits

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(shutil.which("go") is None, reason="h2spec is built with Go"),
]
_MODULE = "github.com/summerwind/h2spec/cmd/h2spec@latest"


async def said(*command: str, **environment: str) -> str:
    """Return what a program prints."""
    process = await asyncio.create_subprocess_exec(
        "env",
        *(f"{name}={value}" for name, value in environment.items()),
        *command,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        printed, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return printed.decode()


async def test_every_case_passes(tmp_path: Path) -> None:
    """None is left out."""
    built = await said("go", "install", _MODULE, GOBIN=str(tmp_path), GOFLAGS="-mod=mod")
    h2spec = tmp_path / "h2spec"
    if not h2spec.exists():
        pytest.skip(f"Go cannot fetch or build h2spec: {built[-300:]}")
    # It opens more streams than it is allowed, and frames as large as they may be.
    limits = ConnectionLimits(streams=100, frame_bytes=1 << 14)
    server = Server(lambda _: None, ServerLimits(connection=limits), asyncio.get_running_loop())
    port = await server.listen("127.0.0.1", 0)
    printed = await said(str(h2spec), "-h", "127.0.0.1", "-p", str(port), "-o", "10")
    await server.stop(0)
    counts = re.search(r"(\d+) tests, (\d+) passed, (\d+) skipped, (\d+) failed", printed)
    assert counts is not None, printed
    tests, passed, skipped, failed = map(int, counts.groups())
    assert (tests > 140, skipped, failed) == (True, 0, 0), printed
    assert passed == tests
