from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "simulate.md"
COMMANDS = re.findall(r"```console\npython (.+)\n```", PAGE.read_text())


@pytest.mark.parametrize(
    ("command", "status"), list(zip(COMMANDS, (0, 0, 1), strict=True)), ids=str
)
def test_the_commands_of_the_page_end_as_it_says(command: str, status: int) -> None:
    done = subprocess.run(
        [sys.executable, *command.split()], capture_output=True, text=True, check=False
    )

    assert done.returncode == status, done.stdout + done.stderr
    assert "virtual hours" in done.stdout
    assert ("python -m quorate.testing.sim --seed" in done.stdout) == bool(status)
