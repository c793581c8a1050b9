"""A process opens as many files as the system allows it, and not only as many as at first."""

from __future__ import annotations

import subprocess
import sys

_PROGRAM = """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 256))
from quorate.config.files import open_files, raise_open_files
before = open_files()
raise_open_files()
print(before, open_files(), resource.getrlimit(resource.RLIMIT_NOFILE))
"""


def test_the_soft_limit_becomes_the_hard_one() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == ["64", "256", "(256,", "256)"]
