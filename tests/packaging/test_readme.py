from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
NOT_IN_A_CLONE = shutil.ignore_patterns(
    ".git", ".tox", ".venv", ".*_cache", "__pycache__", "build", "dist", "_build"
)


def commands() -> list[str]:
    """Return the README's command lines that use its virtual environment, in order."""
    lines = (ROOT / "README.md").read_text().splitlines()
    return [line for line in lines if ".venv/bin/" in line]


def test_the_first_command_installs_and_lists_the_example(tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    shutil.copytree(ROOT, clone, ignore=NOT_IN_A_CLONE)
    python, rest = commands()[0].split(" ", 1)
    assert python == "python3.11"

    in_a_shell(f"{shlex.quote(sys.executable)} {rest}", clone)

    listed = in_a_shell(".venv/bin/quorate plugin list --output json", clone)
    [greeting] = [plugin for plugin in json.loads(listed) if plugin["name"] == "greeting"]
    assert greeting["version"] == "0.1.0"
    assert greeting["state"] in {"enabled", "available"}
    for kind in ("groups", "families", "commands", "queries", "controllers", "services"):
        assert greeting[kind], f"the example declares no {kind}"


def test_ci_runs_the_second_command() -> None:
    assert commands()[1] in (ROOT / ".ci" / "run").read_text().splitlines()


def in_a_shell(command: str, directory: Path) -> str:
    done = subprocess.run(
        command, shell=True, cwd=directory, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout
