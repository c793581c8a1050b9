from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "simulate.md"
TEXT = PAGE.read_text(encoding="utf-8")
COMMANDS = re.findall(r"```console\npython (.+)\n```", TEXT)
[EXAMPLE] = re.findall(r"```python\n(.+?)```", TEXT, re.DOTALL)


@pytest.mark.ci
@pytest.mark.parametrize(
    ("command", "status"), list(zip(COMMANDS, (0, 0, 1), strict=True)), ids=str
)
def test_the_commands_of_the_page_end_as_it_says(command: str, status: int) -> None:
    done = subprocess.run(
        [sys.executable, *command.split()], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert done.returncode == status, done.stdout + done.stderr
    assert "virtual hours" in done.stdout
    assert ("python -m tests.support.sim --seed" in done.stdout) == bool(status)


def test_the_example_of_a_history_is_a_violation(capsys: pytest.CaptureFixture[str]) -> None:
    exec(EXAMPLE, {})
    assert "client 2, 2000.0 to 3000.0 ms: get -> absent" in capsys.readouterr().out
