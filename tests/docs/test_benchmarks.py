"""Every benchmark starts from the root of the repository, as its README says."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAMS = sorted(
    path.name for path in (ROOT / "benchmarks").glob("*.py") if "__main__" in path.read_text()
)


@pytest.mark.ci
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_benchmark_tells_its_options(program: str) -> None:
    run = subprocess.run(
        [sys.executable, f"benchmarks/{program}", "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert "usage" in run.stdout.lower()
