"""What the sdist of core ships as tests runs from it."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.packaging.conftest import Distribution

#: Short ones: one reads a page of the documentation, and one what stands in tests/support.
SOME = ("config", "consensus/test_log.py")


@pytest.fixture(scope="module")
def unpacked(
    distributions: dict[str, Distribution], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    core = distributions["quorate"]
    root = tmp_path_factory.mktemp("sdist")
    with tarfile.open(core.wheel.parent / f"quorate-{core.version}.tar.gz") as archive:
        archive.extractall(root, filter="data")
    return root / f"quorate-{core.version}"


def run(unpacked: Path, *arguments: str) -> str:
    """Run pytest with what was unpacked alone, beside what is installed."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
        cwd=unpacked,
        env={**os.environ, "PYTHONPATH": str(unpacked / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


# It compiles all tests.
@pytest.mark.full
@pytest.mark.timeout(1200)
def test_every_test_is_collected(unpacked: Path) -> None:
    listed = run(unpacked, "--collect-only", "core/tests")
    collected = {line.partition("::")[0] for line in listed.splitlines() if "::" in line}
    files = (unpacked / "core" / "tests").rglob("test_*.py")
    assert collected == {path.relative_to(unpacked).as_posix() for path in files}


@pytest.mark.ci
def test_some_run(unpacked: Path) -> None:
    run(unpacked, "-m", "not ci and not full", *(f"core/tests/{each}" for each in SOME))
