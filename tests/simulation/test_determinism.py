import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = """
from tests.support.sim.profile import mixed
from tests.support.sim.simulation import simulate

for seed in (3, 4, 7):
    print(simulate(seed, mixed(seed, 5.0)).trace)
"""


def _traces(hash_seed: str) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return done.stdout


@pytest.mark.ci
def test_a_seed_has_one_trace_under_any_hash_seed() -> None:
    first = _traces("1")
    assert len(set(first.split())) == 3
    assert _traces("2") == first
