"""No line of the pages is longer than a screen is wide, where it can be broken."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.workspace import ROOT

WIDTH = 120
PAGES = [
    *(ROOT / name for name in ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "README.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
#: What stays in one piece: a word, and code with its spaces.
PIECE = re.compile(r"(?:`[^`]*`|[^\s`])+")


def long_lines(text: str) -> Iterator[str]:
    """Yield the lines to break: those of code and of tables cannot be, nor one piece alone."""
    fenced = False
    for line in text.splitlines():
        fenced ^= line.lstrip().startswith("```")
        whole = fenced or line.lstrip().startswith("|") or len(PIECE.findall(line)) == 1
        if len(line) > WIDTH and not whole:
            yield line


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"{'word ' * 24}", 0),
        (f"{'word ' * 25}", 1),
        (f"| {'word ' * 25} |", 0),
        (f"```\n{'word ' * 25}\n```", 0),
        (f"```\n```\n{'word ' * 25}", 1),
        (f"`{'word ' * 25}`.", 0),
    ],
)
def test_a_long_line_is_one_that_can_be_broken(text: str, found: int) -> None:
    assert len(list(long_lines(text))) == found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_lines_are_no_longer_than_a_screen(page: Path) -> None:
    assert list(long_lines(page.read_text(encoding="utf-8"))) == []
