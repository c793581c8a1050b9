"""The reference of `quorate.plugin` is what its source says, and leaves nothing out."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields, is_dataclass

import pytest
import quorate.plugin
from quorate.plugin import keys

from tests.support.pages import page

PARTS = re.split(r"^### `([\w.]+)`$", page("reference/plugin-api"), flags=re.MULTILINE)
ENTRIES = dict(zip(PARTS[1::2], PARTS[2::2], strict=True))
PUBLIC = sorted(set(quorate.plugin.__all__) - {"keys"})


def test_nothing_public_is_missing() -> None:
    functions = [name for name, _ in inspect.getmembers(keys, inspect.isfunction) if name[0] != "_"]

    assert sorted(ENTRIES) == sorted([*PUBLIC, *(f"keys.{name}" for name in functions)])


@pytest.mark.parametrize("name", PUBLIC)
def test_every_field_and_method_has_a_meaning(name: str) -> None:
    found = getattr(quorate.plugin, name)
    if inspect.isclass(found) and is_dataclass(found):
        rows = dict(re.findall(r"^\| `(\w+)` \| `.+` \| (.+) \|$", ENTRIES[name], re.MULTILINE))
        assert list(rows) == [each.name for each in fields(found)]
        assert not [each for each in rows.values() if each.startswith(("Default", "Required"))]
    elif inspect.isclass(found):
        own = [each for each in vars(found) if each[0] != "_"]
        assert not [each for each in own if each not in ENTRIES[name]]
