"""The pages in the place of one that cannot be shown."""

from __future__ import annotations

from quorate.cli.console.refusals import no_page, old_note, unanswered, unknown_caller

HOSTILE = "<script>"
ERROR = RuntimeError(f"no leader of {HOSTILE}")


def test_nothing_of_strangers_is_markup() -> None:
    pages = [
        no_page(HOSTILE),
        unanswered(ERROR, HOSTILE, HOSTILE, {HOSTILE: HOSTILE}, stale=True),
        unknown_caller(ERROR, given=True),
    ]

    assert all(HOSTILE not in each.head + each.lead for each in pages)


def test_rows_that_may_be_old_are_offered_once() -> None:
    def lead(query: dict[str, str], *, stale: bool) -> str:
        return unanswered(ERROR, "node1", "pairs", query, stale=stale).lead

    assert "/console/pairs?prefix=a&amp;stale=yes" in lead({"prefix": "a"}, stale=True)
    assert "stale=yes" not in lead({"prefix": "a"}, stale=False)
    assert "stale=yes" not in lead({"stale": "yes"}, stale=True)
    assert "may be old" in old_note({"stale": "yes"})
    assert old_note({}) == ""
