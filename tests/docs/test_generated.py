"""A part of a page that is generated is announced by the last line of the page, and replaces it."""

from __future__ import annotations

import re

import pytest

from tests.support.pages import DOCS, page

ANNOUNCED = re.compile(r"`python docs/generated\.py (\S+)` prints it\.\n\Z")
NAMES = [
    path.relative_to(DOCS).with_suffix("").as_posix()
    for path in sorted(DOCS.rglob("*.md"))
    if ANNOUNCED.search(path.read_text(encoding="utf-8"))
]


def test_each_announced_page_is_its_own() -> None:
    assert len(NAMES) == 5
    for name in NAMES:
        [announced] = ANNOUNCED.findall((DOCS / f"{name}.md").read_text(encoding="utf-8"))
        assert announced == name


@pytest.mark.parametrize("name", NAMES)
def test_a_page_is_completed(name: str) -> None:
    text = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    opening = text.removesuffix(text.splitlines()[-1] + "\n")
    built = page(name)
    assert built.startswith(opening)
    assert not ANNOUNCED.search(built)
    assert built.count("\n") > opening.count("\n") + 10
