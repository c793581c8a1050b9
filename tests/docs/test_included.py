"""What the documentation cuts out of tested files is there to be cut out."""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
#: Not `lines`: numbers rot.
OPTIONS = {"language", "pyobject", "start-at", "start-after", "end-at", "end-before"}
BLOCK = re.compile(r"^```\{literalinclude\} (?P<path>.+)\n(?P<options>(?::.+\n)*)```$", re.M)
OPTION = re.compile(r"^:(?P<name>[a-z-]+): ?(?P<value>.*)$", re.M)


@dataclass(frozen=True)
class Include:
    page: str
    file: Path
    options: Mapping[str, str]

    def __str__(self) -> str:
        start = self.options.get("pyobject") or self.options.get("start-at") or ""
        return f"{self.page} {self.file.name} {start}".strip()


def includes() -> Iterator[Include]:
    for page in sorted(DOCS.rglob("*.md")):
        text = page.read_text()
        found = [*BLOCK.finditer(text)]
        assert len(found) == text.count("{literalinclude}"), f"{page}: a block is not understood"
        for block in found:
            options = {each["name"]: each["value"] for each in OPTION.finditer(block["options"])}
            name = page.relative_to(DOCS).as_posix()
            yield Include(name, (page.parent / block["path"]).resolve(), options)


def objects_of(body: list[ast.stmt], path: str = "") -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield path + node.name
            if isinstance(node, ast.ClassDef):
                yield from objects_of(node.body, f"{path}{node.name}.")


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
        found = list(objects_of(ast.parse(text).body))
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
