"""Wheels of this tree, and of a release before it, which nodes of a test are started with.

There is no earlier release yet. The older one is this tree with a lower version, without the newest
level of core and the commands that it brought.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

CORE: Final = Path(__file__).parents[2] / "core"
OLDER: Final = "0.0.9"


def installed(source: Path, place: Path) -> Path:
    """Build the wheel of a distribution and install it, alone, in a directory of its own."""
    for command in (
        ["build", "--wheel", "--no-isolation", "--outdir", str(place / "dist"), str(source)],
        ["pip", "install", "-q", "--no-deps", "--no-index", "--target", str(place / "packages")],
    ):
        wheels = map(str, (place / "dist").glob("*.whl")) if command[0] == "pip" else ()
        done = subprocess.run(
            [sys.executable, "-m", *command, *wheels], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    return place / "packages"


def older(place: Path) -> Path:
    """Return the source of a release before this one."""
    source = place / "source"
    shutil.copytree(CORE, source, ignore=shutil.ignore_patterns("tests", "__pycache__"))
    for name, pattern, instead in (
        ("pyproject.toml", r'^version = ".*"', f'version = "{OLDER}"'),
        ("src/quorate/apply/levels.py", r"^CORE_LEVEL: Final = \d+", "CORE_LEVEL: Final = 1"),
        (
            "src/quorate/topology/commands/routes.py",
            r"^ *ControlRoute\(pb\.\w+, \S+, [A-Z]+_FROM\b.*\),\n",
            "",
        ),
    ):
        text, count = re.subn(pattern, instead, (source / name).read_text(), flags=re.MULTILINE)
        assert count, name
        (source / name).write_text(text)
    return source
