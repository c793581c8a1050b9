from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.packaging.conftest import Distribution, Environment

pytestmark = pytest.mark.ci


def test_the_example_passes_its_tests_from_wheels(
    environment: Callable[[], Environment], distributions: dict[str, Distribution]
) -> None:
    greeting = distributions["quorate-greeting"]
    author = environment()
    author.install(str(greeting.wheel), extra="testing")
    shutil.copytree(greeting.source / "tests", author.directory / "tests")

    author.run("python", "-m", "pytest", "-p", "no:cacheprovider", "tests")


def test_a_new_plugin_passes_its_tests_untouched(
    environment: Callable[[], Environment], build_wheel: Callable[[Path], Path]
) -> None:
    author = environment()
    author.install(extra="dev")
    author.run("quorate", "plugin", "new", "greeting")
    [source] = [p.parent for p in author.directory.glob("*/pyproject.toml")]

    author.install(str(build_wheel(source)), extra="dev")
    author.run("quorate", "plugin", "check", "greeting")
    author.run("python", "-m", "pytest", "-p", "no:cacheprovider", str(source / "tests"))
