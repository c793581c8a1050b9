"""The reference of bounds says what the code says."""

from __future__ import annotations

import re
from dataclasses import MISSING, fields
from importlib import import_module
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "bounds.md").read_text(encoding="utf-8")
PARTS = re.split(r"^## (.+)$", PAGE, flags=re.MULTILINE)
TABLES = dict(zip(PARTS[1::2], PARTS[2::2], strict=True))
CLASSES = [heading.strip("`") for heading in TABLES if heading.startswith("`")]


def rows(table: str) -> list[tuple[str, str]]:
    return re.findall(r"^\| `([\w.]+)` \| `(.+?)` \| .+ \|$", table, re.MULTILINE)


def named(path: str) -> object:
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)


def test_there_are_tables() -> None:
    assert len(CLASSES) == 7
    assert len(rows(TABLES["Fixed"])) == 13


@pytest.mark.parametrize("path", CLASSES)
def test_every_field_is_there_with_its_default(path: str) -> None:
    cls = named(path)
    assert isinstance(cls, type)

    # What is a dataclass itself has a table of its own.
    plain = [each for each in fields(cls) if each.default is not MISSING]
    assert rows(TABLES[f"`{path}`"]) == [(each.name, repr(each.default)) for each in plain]


@pytest.mark.parametrize(("path", "value"), rows(TABLES["Fixed"]))
def test_what_is_fixed_has_its_value(path: str, value: str) -> None:
    assert repr(named(path)) == value
