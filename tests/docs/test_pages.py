"""How pages begin, and that the tables for those who come from elsewhere name what there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.pages import command_of

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(DOCS.glob("*/*.md"))
#: Not that of a name, as in `prefix.name`.
SENTENCE_END = re.compile(r"[.:](?=\s+[A-Z`\[]|$)")
OUTCOMES = ("At the end of this page", "In ten minutes you have")
MOVES = sorted(DOCS.glob("how-to/move-from-[ez]*.md"))


def opening(text: str) -> str:
    """Return the first block of a page below its title."""
    return text.partition("\n\n")[2].partition("\n\n")[0]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_opens_with_a_title_and_one_to_three_sentences(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# ")
    assert re.match(r"[\w`\[]", opening(text)), "it opens with a heading, a list, a table or code"
    assert opening(text).endswith((".", ":"))
    assert len(SENTENCE_END.findall(opening(text))) <= 3, "split it, the most important first"


@pytest.mark.parametrize("page", [*DOCS.glob("how-to/*.md"), *DOCS.glob("tutorial/*.md")])
def test_a_page_to_be_done_opens_with_what_one_will_have(page: Path) -> None:
    assert opening(page.read_text(encoding="utf-8")).startswith(OUTCOMES)


@pytest.mark.parametrize("page", MOVES, ids=lambda page: page.stem)
def test_who_comes_from_elsewhere_is_told_the_outcome_in_two_sentences(page: Path) -> None:
    text = opening(page.read_text(encoding="utf-8"))
    assert text.startswith("At the end of this page you know")
    assert len(re.findall(r"\.(?:\s|$)", text)) <= 2


@pytest.mark.parametrize("page", MOVES, ids=lambda page: page.stem)
def test_the_commands_for_who_comes_from_elsewhere_are_there(page: Path) -> None:
    named = re.findall(r"`quorate ([^`]+)`", page.read_text(encoding="utf-8"))
    assert len(named) >= 10
    for line in named:
        words = line.split()
        assert command_of(words) is not None, line


def test_the_landing_page_leads_to_pages_of_every_kind() -> None:
    links = re.findall(r"\]\(([^)]+)\)", (DOCS / "index.md").read_text(encoding="utf-8"))
    assert all((DOCS / link).is_file() for link in links)
    assert {link.partition("/")[0] for link in links} == {
        "explanation",
        "how-to",
        "reference",
        "tutorial",
    }
