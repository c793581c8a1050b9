"""What a program that imports the client imports with it: each module costs every start."""

from __future__ import annotations

import subprocess
import sys

import pytest

#: What takes long to import and is needed by nodes, plugins or the command line alone.
HEAVY = {
    "click",
    "grpc",
    "importlib.metadata",
    "opentelemetry",
    "packaging",
    "pluggy",
    "pydantic",
    "quorate.observe.recorder",
    "quorate.plugin.declarations",
    "quorate.plugin.node",
    "quorate.plugin.resource",
    "rich",
    "rocksdict",
    "uvloop",
}


@pytest.mark.parametrize("names", ["connect", "Client", "KeyValue, QuorateError"])
def test_the_client_comes_without_what_it_does_not_need(names: str) -> None:
    program = f"import sys; from quorate.client import {names}; print(*sys.modules)"
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, text=True
    )
    assert set(ran.stdout.split()).isdisjoint(HEAVY)
