"""The server keeps the rules of HTTP/2 and HPACK, as h2spec judges them."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
from quorate.http2.connection import ConnectionLimits
from quorate.http2.grpc.server import Server, ServerLimits

from tests.interop.programs import built, needs_go, ran

pytestmark = [pytest.mark.full, needs_go]
_MODULE = "github.com/summerwind/h2spec/cmd/h2spec@latest"


async def test_every_case_passes(tmp_path: Path) -> None:
    """None is left out."""
    h2spec = await built(_MODULE, tmp_path)
    # It opens more streams than it is allowed, and frames as large as they may be.
    limits = ConnectionLimits(streams=100, frame_bytes=1 << 14)
    server = Server(lambda _: None, ServerLimits(connection=limits), asyncio.get_running_loop())
    port = await server.listen("127.0.0.1", 0)
    _, printed = await ran(str(h2spec), "-h", "127.0.0.1", "-p", str(port), "-o", "10")
    await server.stop(0)
    counts = re.search(r"(\d+) tests, (\d+) passed, (\d+) skipped, (\d+) failed", printed)
    assert counts is not None, printed
    tests, passed, skipped, failed = map(int, counts.groups())
    assert (tests > 140, skipped, failed) == (True, 0, 0), printed
    assert passed == tests
