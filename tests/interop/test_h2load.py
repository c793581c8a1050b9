"""The server answers every call of nghttp2's h2load."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from quorate.http2.grpc.messages import framed

from tests.interop.conftest import Served
from tests.interop.programs import ran

_H2LOAD = shutil.which("h2load")
pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(_H2LOAD is None, reason="Debian's nghttp2-client has h2load"),
]


@pytest.mark.parametrize("served", ["plain"], indirect=True)
@pytest.mark.parametrize("at_once", [1, 100])
async def test_none_of_100_000_calls_fails(tmp_path: Path, served: Served, at_once: int) -> None:
    """Over 100 connections, with one call at a time on each or many."""
    request = tmp_path / "request"
    request.write_bytes(framed(b""))
    code, printed = await ran(
        str(_H2LOAD),
        *("-n", "100000", "-c", "100", "-m", str(at_once), "-d", str(request)),
        *("-H", "content-type: application/grpc", "-H", "te: trailers"),
        f"http://127.0.0.1:{served.port}/grpc.testing.TestService/EmptyCall",
    )
    counts = re.search(
        r"100000 total, 100000 started, 100000 done, 100000 succeeded, 0 failed, 0 errored", printed
    )
    assert code == 0, printed
    assert counts is not None, printed
    assert served.server.faults.total() == 0
