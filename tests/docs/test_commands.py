"""The page of commands shows what they print: each runs again, in its place, in each form."""

from __future__ import annotations

import re
import runpy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.pages import DOCS

PAGE = DOCS / "reference" / "commands.md"


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Mapping[str, Any]:
    """The program that writes the page, where no configuration is found."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return runpy.run_path(str(DOCS / "render_commands.py"))


def test_the_page_has_each_command_in_its_place(program: Mapping[str, Any]) -> None:
    lines = [line for line, _ in program["commands"]()]
    titles = re.findall(r"^##+ `?(.*?)`?$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)

    assert titles == [*lines, program["LAST"]]
    timed = program["TIMES"].read_text(encoding="utf-8").splitlines()[1:]
    assert [each.split(" ", 2)[2] for each in timed] == [
        line for line, words in program["commands"]() if words
    ]
    assert sum(bool(words) for _, words in program["commands"]()) >= 60


@pytest.mark.ci
def test_the_page_shows_what_commands_print(program: Mapping[str, Any]) -> None:
    shape = program["shape"]

    assert shape(program["render"]()) == shape(PAGE.read_text(encoding="utf-8"))
