"""The reference of the hooks says what `quorate.plugin.hookspecs` says."""

import inspect
import re
from pathlib import Path

import pytest
from quorate.plugin import hookspecs
from quorate.plugin.declared import hook_names

from tests.support.pages import page

ROOT = Path(__file__).parents[2]
HEADING = re.compile(r"^## `(?P<name>\w+)\((?P<arguments>.*)\)`$", re.M)


def test_every_hook_has_a_heading_with_its_arguments() -> None:
    headings = {
        found["name"]: found["arguments"] for found in HEADING.finditer(page("reference/hooks"))
    }

    assert headings == {
        name: ", ".join(inspect.signature(getattr(hookspecs, name)).parameters)
        for name in hook_names()
    }


def test_the_diagram_names_every_hook() -> None:
    [diagram] = re.findall(r"^```text\n(.*?)^```$", page("reference/hooks"), re.M | re.S)

    shown = {word.removeprefix("quorate_") for word in re.findall(r"\w+", diagram)}
    assert {name.removeprefix("quorate_") for name in hook_names()} <= shown


@pytest.mark.parametrize("hook", hook_names())
def test_every_hook_is_named_by_a_test(hook: str) -> None:
    named = re.compile(rf"\b{hook}\b")
    tests = [
        path
        for path in ROOT.glob("*/**/test_*.py")
        if "tests" in path.parts and not path.is_relative_to(Path(__file__).parent)
    ]

    assert any(named.search(path.read_text()) for path in tests), f"no test names {hook}"
