"""The reference of `quorate.plugin` is what its source says, and leaves nothing out."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields, is_dataclass

import pytest
from quorate import plugin
from quorate.plugin import advanced, keys

from tests.support.pages import page

PUBLIC = sorted({*plugin.__all__, *advanced.__all__} - {"keys"})


@pytest.fixture(scope="module")
def entries() -> dict[str, str]:
    parts = re.split(r"^### `([\w.]+)`$", page("reference/plugin-api"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_nothing_public_is_missing(entries: dict[str, str]) -> None:
    functions = [name for name, _ in inspect.getmembers(keys, inspect.isfunction) if name[0] != "_"]

    assert sorted(entries) == sorted([*PUBLIC, *(f"keys.{name}" for name in functions)])


@pytest.mark.parametrize("name", PUBLIC)
def test_every_field_and_method_has_a_meaning(name: str, entries: dict[str, str]) -> None:
    found = getattr(plugin if name in plugin.__all__ else advanced, name)
    if inspect.isclass(found) and is_dataclass(found):
        rows = dict(re.findall(r"^\| `(\w+)` \| `.+` \| (.+) \|$", entries[name], re.MULTILINE))
        assert list(rows) == [each.name for each in fields(found)]
        assert not [each for each in rows.values() if each.startswith(("Default", "Required"))]
    elif inspect.isclass(found):
        own = [each for each in vars(found) if each[0] != "_"]
        assert not [each for each in own if each not in entries[name]]
