"""The reference of `quorate.plugin` is what its source says, and leaves nothing out."""

from __future__ import annotations

import inspect
import re
import runpy
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest
import quorate.plugin
from quorate.plugin import keys

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "plugin-api.md"
PARTS = re.split(r"^### `([\w.]+)`$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
ENTRIES = dict(zip(PARTS[1::2], PARTS[2::2], strict=True))
PUBLIC = sorted(set(quorate.plugin.__all__) - {"keys"})


def test_the_page_is_what_the_source_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs")
    render = runpy.run_path(str(ROOT / "docs" / "render_plugin_api.py"))["render"]

    assert render() == PAGE.read_text(encoding="utf-8"), "run: python docs/render_plugin_api.py"


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
