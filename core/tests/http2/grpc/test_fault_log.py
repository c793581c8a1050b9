"""Faults of clients make few lines in the log, whatever their number."""

from __future__ import annotations

import pytest
from quorate.http2.errors import ErrorCode
from quorate.http2.grpc.fault_log import FaultLog


def test_one_line_says_how_many_faults_came_and_from_where(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log = FaultLog()
    log.tell(0)
    for number in range(1_000):
        log.add(ErrorCode.PROTOCOL_ERROR, f"ipv4:10.0.{number}.1:{number}", "no request")
    log.add(ErrorCode.ENHANCE_YOUR_CALM, "ipv4:10.0.0.1:5", "too many")
    log.tell(1)
    log.tell(2)
    [line] = caplog.messages
    assert "PROTOCOL_ERROR 1000, ENHANCE_YOUR_CALM 1" in line
    assert "others (992), ipv4:10.0.0.1 (2), ipv4:10.0.1.1 (1)" in line
    assert line.endswith("the last: too many")
    assert line.count("ipv4") == 8


def test_the_next_line_waits_and_begins_anew(caplog: pytest.LogCaptureFixture) -> None:
    log = FaultLog()
    for now in range(200):
        log.add(ErrorCode.STREAM_CLOSED, "unix:", "data after the end")
        log.tell(now)
    log.tell()
    assert [line.split("; ")[0].rpartition(" ")[2] for line in caplog.messages] == [
        "1",
        "60",
        "60",
        "60",
        "19",
    ]
    log.tell()
    assert len(caplog.messages) == 5
