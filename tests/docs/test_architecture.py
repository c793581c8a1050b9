"""The page on the architecture names paths, definitions and imports that are there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CORE = ROOT / "core" / "src" / "quorate"
TEXT = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")

#: Text in backticks that is a path, with or without a definition behind it.
NAMED = re.compile(r"`((?:[\w.-]+/)*[\w.-]+(?:/|\.py|\.toml|\.importlinter))(?:: ([\w.]+))?`")
#: What else has a slash in backticks.
OTHERS = {"metadata/0", "mqtt/0", "quorate shard split mqtt/0"}
ROW = re.compile(r"^\| `(\w+)/` \| .+ \| ([\w, ]+) \|$", re.MULTILINE)


def named() -> list[tuple[str, str]]:
    return sorted(set(NAMED.findall(TEXT)))


def found(path: str) -> Path | None:
    """Return the file or folder of a path as the page writes it, if there is one."""
    return next((each for each in (CORE / path, ROOT / path) if each.exists()), None)


def test_the_page_is_short_and_has_five_walks() -> None:
    assert len(TEXT.splitlines()) <= 150
    assert len(re.findall(r"^## .*: `", TEXT, re.MULTILINE)) == 5


def test_the_page_names_paths() -> None:
    paths = {path for path, _ in named()}
    assert len(paths) > 50
    quoted = {text.partition(":")[0] for text in re.findall(r"`([^`\n]*/[^`\n]*)`", TEXT)}
    assert quoted - paths == OTHERS


@pytest.mark.parametrize(("path", "name"), named())
def test_each_path_exists_with_its_definition(path: str, name: str) -> None:
    there = found(path)
    assert there is not None
    if name:
        tree: ast.AST = ast.parse(there.read_text(encoding="utf-8"))
        for part in name.split("."):
            tree = next(each for each in definitions(tree) if each.name == part)


def definitions(
    tree: ast.AST,
) -> Iterator[ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]:
    for each in ast.iter_child_nodes(tree):
        if isinstance(each, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield each


def test_each_room_has_a_row() -> None:
    rooms = {each.name for each in CORE.iterdir() if (each / "__init__.py").exists()}
    assert {room for room, _ in ROW.findall(TEXT)} == rooms


@pytest.mark.parametrize(("room", "told"), ROW.findall(TEXT))
def test_each_room_imports_the_rooms_of_its_row(room: str, told: str) -> None:
    rooms = {each for each, _ in ROW.findall(TEXT)}
    imported = {
        module.split(".")[1]
        for file in (CORE / room).rglob("*.py")
        if not file.name.endswith("_pb2.py")
        for module in imports(ast.parse(file.read_text(encoding="utf-8")))
        if module.startswith("quorate.")
    }
    assert sorted((imported & rooms) - {room}) == ([] if told == "none" else told.split(", "))


def imports(tree: ast.AST) -> Iterator[str]:
    """Yield the modules that are imported when the code runs, also within functions."""
    for each in ast.iter_child_nodes(tree):
        if isinstance(each, ast.If) and ast.unparse(each.test) == "TYPE_CHECKING":
            continue
        if isinstance(each, ast.Import):
            yield from (alias.name for alias in each.names)
        elif isinstance(each, ast.ImportFrom) and each.module == "quorate":
            yield from (f"quorate.{alias.name}" for alias in each.names)
        elif isinstance(each, ast.ImportFrom) and each.module is not None:
            yield each.module
        yield from imports(each)
