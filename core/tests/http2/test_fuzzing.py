"""A small part of what `tox -e fuzz` throws at HTTP/2; its module says how to do more."""

from __future__ import annotations

from core.tests.http2.fuzzing import run


def test_hostile_bytes_end_in_faults_alone() -> None:
    ends = {run(seed) for seed in range(900)}
    assert {"server: no fault", "client: no fault", "HPACK is read", "HPACK is refused"} <= ends
    assert {"server: PROTOCOL_ERROR", "client: PROTOCOL_ERROR"} <= ends
