"""Packages whose names are imported from their modules when they are first asked for."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path
from types import ModuleType

import pytest
import quorate.client
import quorate.plugin
import quorate.testing
from quorate.plugin.lazily import lazily

PACKAGES = (quorate.client, quorate.plugin, quorate.testing)


def shown_to_checkers(package: ModuleType) -> dict[str, str]:
    """Return the names that a package imports for type checkers, with their modules."""
    tree = ast.parse(Path(str(package.__file__)).read_text(encoding="utf-8"))
    [block] = [each for each in tree.body if isinstance(each, ast.If)]
    return {
        alias.name: str(each.module)
        for each in block.body
        if isinstance(each, ast.ImportFrom)
        for alias in each.names
    }


@pytest.mark.parametrize("package", PACKAGES, ids=lambda each: str(each.__name__))
def test_each_name_is_what_checkers_take_it_for(package: ModuleType) -> None:
    shown = shown_to_checkers(package)

    assert sorted(shown) == sorted(package.__all__)
    for name, home in shown.items():
        module = importlib.import_module(home)
        found = importlib.import_module(f"{home}.{name}") if module is package else None
        assert getattr(package, name) is (found or getattr(module, name)), name


@pytest.mark.parametrize("package", PACKAGES, ids=lambda each: str(each.__name__))
def test_a_prompt_completes_the_names(package: ModuleType) -> None:
    assert set(package.__all__) <= set(dir(package))


def test_a_name_that_no_module_defines_is_an_attribute_error() -> None:
    *_, get = lazily("quorate.plugin", {"quorate.plugin.keys": "pack"})

    with pytest.raises(AttributeError, match=r"quorate\.plugin' has no attribute 'NoSuchName'"):
        get("NoSuchName")
