"""Wheels of the whole workspace, and fresh environments that see nothing else of it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support import workspace


@dataclass(frozen=True)
class Distribution:
    """One distribution of the workspace with its wheel."""

    name: str
    version: str
    source: Path
    wheel: Path


class Environment:
    """A virtual environment in which core is the wheel of the workspace, never an index's.

    uv fills it in a fraction of the time that pip takes; what the README does with pip is tested
    with pip.
    """

    def __init__(self, path: Path, core: Path) -> None:
        """Create it under ``path``, where its commands run too."""
        self.directory = path
        self._bin = path / "venv" / ("Scripts" if os.name == "nt" else "bin")
        self._core = core
        self._uv("venv", "--python", sys.executable, "venv")

    def run(self, program: str, *args: str, status: int = 0) -> str:
        """Run a program of the environment, demand its exit status, return its standard output."""
        return self._demand(self.program(program), *args, status=status)

    def program(self, name: str) -> str:
        """Return the path of a program of the environment."""
        return str(self._bin / name)

    def _demand(self, program: str, *args: str, status: int = 0) -> str:
        outside = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"}
        done = subprocess.run(
            [program, *args],
            cwd=self.directory,
            env={name: value for name, value in os.environ.items() if name not in outside},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        command = " ".join([program, *args])
        assert done.returncode == status, (
            f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
        )
        return done.stdout

    def install(self, *requirements: str, extra: str = "") -> None:
        """Install core, with one of its extras, and what else is asked for.

        Plugins on which a plugin depends are the wheels of the workspace, too.
        """
        core = f"{self._core}[{extra}]" if extra else str(self._core)
        wheels = ("--find-links", str(self._core.parent))
        self._pip("install", *wheels, core, *requirements)

    def uninstall(self, *names: str) -> None:
        """Take distributions out again."""
        if names:
            self._pip("uninstall", *names)

    def _pip(self, action: str, *args: str) -> None:
        self._uv("pip", action, "--python", self.program("python"), *args)

    def _uv(self, *args: str) -> None:
        self._demand(sys.executable, "-m", "uv", "-q", *args)

    def finds(self, module: str) -> bool:
        """Tell whether a top-level module can be imported there."""
        code = f"import importlib.util; print(importlib.util.find_spec({module!r}) is not None)"
        return self.run("python", "-c", code).strip() == "True"


def build(source: Path, target: Path) -> Path:
    """Build the sdist and, from it, the wheel."""
    before = set(target.glob("*.whl"))
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir"]
    command += [str(target), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{source.name} does not build\n{done.stdout}{done.stderr}"
    [wheel] = set(target.glob("*.whl")) - before
    return wheel


@pytest.fixture(scope="session")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Distribution]:
    """Every distribution of the workspace by name, built once; a release keeps its folder."""
    kept = os.environ.get("QUORATE_DIST")
    target = Path(kept) if kept else tmp_path_factory.mktemp("dist")
    built = {}
    for each in workspace.distributions():
        wheel = build(each.source, target)
        built[each.name] = Distribution(each.name, each.version, each.source, wheel)
    return built


@pytest.fixture(scope="session")
def build_wheel(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Path]:
    """Return a function that builds the wheel of a distribution that is not the workspace's."""
    return lambda source: build(source, tmp_path_factory.mktemp("built"))


@pytest.fixture(scope="session")
def environment(
    distributions: dict[str, Distribution], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[], Environment]:
    """Return a function that makes a fresh environment."""
    core = distributions["quorate"].wheel
    return lambda: Environment(tmp_path_factory.mktemp("environment"), core)
