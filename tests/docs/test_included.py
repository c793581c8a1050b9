"""What the documentation cuts out of tested files is there to be cut out, and is what they say."""

from __future__ import annotations

import ast
import re
import runpy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parents[2] / "docs"
#: Not `lines`: numbers rot.
OPTIONS = {"pyobject", "start-at", "start-after", "end-at", "end-before"}
CODE: dict[str, Any] = runpy.run_path(str(DOCS / "include_code.py"))
PAGES = sorted(DOCS.rglob("*.md"))


@dataclass(frozen=True)
class Include:
    page: str
    file: Path
    options: Mapping[str, str]

    def __str__(self) -> str:
        start = self.options.get("pyobject") or self.options.get("start-at") or ""
        return f"{self.page} {self.file.name} {start}".strip()


def includes() -> Iterator[Include]:
    for page in PAGES:
        text = page.read_text()
        found: list[re.Match[str]] = [*CODE["BLOCK"].finditer(text)]
        assert len(found) == text.count("<!-- code "), f"{page}: a comment is not understood"
        for block in found:
            name = page.relative_to(DOCS).as_posix()
            file = (page.parent / block["path"]).resolve()
            yield Include(name, file, CODE["options_of"](block))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_holds_the_code_that_it_shows(page: Path) -> None:
    text = page.read_text()

    assert "{literalinclude}" not in text, "a plain viewer shows nothing: use docs/include_code.py"
    assert CODE["rendered"](page) == text, "run: python docs/include_code.py"


def test_the_tutorial_is_made_of_tested_files() -> None:
    pages = [include.page for include in includes()]

    assert pages.count("tutorial/first-plugin.md") > 20


@pytest.mark.parametrize("include", list(includes()), ids=str)
def test_an_included_piece_is_there(include: Include) -> None:
    assert include.file.is_relative_to(DOCS.parent), f"{include}: outside of the repository"
    assert include.file.is_file(), f"{include}: no such file"
    assert set(include.options) <= OPTIONS, f"{include}: use {OPTIONS} alone"

    text = include.file.read_text()
    if name := include.options.get("pyobject"):
        found = [path for path, _ in CODE["objects_of"](ast.parse(text).body)]
        assert found.count(name) == 1, f"{include}: {name} is there {found.count(name)} times"
    lines = text.splitlines()
    at = 0
    for marker in (include.options.get("start-at"), include.options.get("start-after")):
        if marker is not None:
            hits = [number for number, line in enumerate(lines) if marker in line]
            assert len(hits) == 1, f"{include}: {marker!r} starts {len(hits)} lines, not one"
            at = hits[0]
    for marker in (include.options.get("end-at"), include.options.get("end-before")):
        if marker is not None:
            assert any(marker in line for line in lines[at + 1 :]), (
                f"{include}: {marker!r} does not follow the start"
            )
