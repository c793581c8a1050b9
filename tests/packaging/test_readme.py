from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.dev import NODES, free_port, running
from tests.support.workspace import distributions

pytestmark = pytest.mark.ci

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
NOT_IN_A_CLONE = shutil.ignore_patterns(
    ".git", ".tox", ".venv", ".*_cache", "__pycache__", "build", "dist", "_build"
)


def commands() -> list[str]:
    """Return the README's command lines that use its virtual environment, in order."""
    return [
        line for line in README.splitlines() if re.match(r"(python|\.venv/).*\.venv/bin/", line)
    ]


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a clone in which the first command has installed what it installs."""
    clone = tmp_path_factory.mktemp("readme") / "clone"
    shutil.copytree(ROOT, clone, ignore=NOT_IN_A_CLONE)
    python, rest = commands()[0].split(" ", 1)
    assert python == "python3.11"
    in_a_shell(f"{shlex.quote(sys.executable)} {rest.rsplit(' && ', 1)[0]}", clone)
    return clone


def test_the_first_command_ends_in_a_cluster_that_takes_the_next_ones(clone: Path) -> None:
    dev = commands()[0].rsplit(" && ", 1)[1]
    port = free_port()
    # The ports that the README leaves out may be taken here.
    elsewhere = {"QUORATE_ENDPOINTS": ",".join(f"127.0.0.1:{port + node}" for node in range(NODES))}

    with running(f"{dev} --port {port}", clone):
        shown = [
            in_a_shell(line[2:], clone, elsewhere)
            for line in README.splitlines()
            if line.startswith("$ .venv/bin/")
        ]

    assert len(shown) == 3
    assert shown[1] == "1"
    assert all(f"node{number}" in shown[2] for number in (1, 2, 3))


def test_the_example_plugin_is_installed_with_it(clone: Path) -> None:
    listed = in_a_shell(".venv/bin/quorate plugin list --output json", clone)
    [greeting] = [plugin for plugin in json.loads(listed) if plugin["name"] == "greeting"]
    assert greeting["version"] in {each.version for each in distributions()}
    assert greeting["state"] in {"enabled", "available"}
    for kind in ("groups", "families", "commands", "queries", "controllers", "services"):
        assert greeting[kind], f"the example declares no {kind}"


def test_ci_runs_the_second_command() -> None:
    lines = (ROOT / ".ci" / "run").read_text().splitlines()

    # Each part is a line of its own, so that what comes after it runs even if it fails.
    assert {line.partition(" || ")[0] for line in lines} >= set(commands()[1].split(" && "))


def test_the_ten_lines_are_the_example() -> None:
    [block] = re.findall(r"^```python\n(.+?)^```$", README, re.MULTILINE | re.DOTALL)
    script = (ROOT / "examples" / "ten_lines.py").read_text()
    assert block.strip() == script.partition("\n\n")[2].strip()


def in_a_shell(command: str, directory: Path, environment: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        command,
        shell=True,
        cwd=directory,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **(environment or {})},
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout
