"""What a program that imports the client imports with it: each module costs every start."""

from __future__ import annotations

import subprocess
import sys

import pytest

#: What takes long to import and is needed by nodes, the command line or `execute` alone.
HEAVY = ("click", "grpc", "opentelemetry", "packaging", "pydantic", "rich", "rocksdict", "uvloop")


@pytest.mark.parametrize("module", ["quorate", "quorate.client"])
def test_the_client_comes_without_what_it_does_not_need(module: str) -> None:
    program = f"import sys, {module}; print(*{{each.split('.')[0] for each in sys.modules}})"
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, text=True
    )
    assert set(ran.stdout.split()).isdisjoint(HEAVY)
