"""What pages are made of."""

from __future__ import annotations

import pytest
from quorate.cli.console.html import Bad, Link, Page, Share, Trend, form, note
from quorate.cli.console.layout import Frame, Menu, document

HOSTILE = "<script>alert('x')</script>\"&"


def framed(page: Page, menu: Menu = ()) -> str:
    return document(page, Frame("", {}, HOSTILE, HOSTILE, menu))


def shown(value: object, name: str = "column") -> str:
    page = Page(title="t", tables=[("", [{name: value}])])
    found = framed(page)
    return found[found.index("<tbody>") + len("<tbody><tr>") : found.index("</tr></tbody>")]


@pytest.mark.parametrize(
    "value",
    [
        HOSTILE,
        HOSTILE.encode(),
        [HOSTILE],
        {HOSTILE: HOSTILE},
        Bad(HOSTILE),
        Link(HOSTILE, HOSTILE, {HOSTILE: HOSTILE}),
    ],
)
def test_nothing_of_a_value_is_markup(value: object) -> None:
    found = shown(value)

    assert "<script" not in found
    assert "alert" in found


def test_nothing_of_a_name_is_markup() -> None:
    page = Page(title=HOSTILE, tables=[(HOSTILE, [{HOSTILE: 1}])], head=form({HOSTILE: HOSTILE}))
    menu = [(HOSTILE, [Link(HOSTILE, HOSTILE)])]

    assert framed(page, menu).count("<script") == 1
    assert "<script" not in note(HOSTILE)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("n", 1_234_567, '<td class="number">1,234,567</td>'.replace('"', "")),
        ("n", True, "<td>yes</td>"),
        ("n", None, "<td></td>"),
        ("n", b"\xff", "<td>/w==</td>"),
        ("n", Share(3, 0), "<td>3</td>"),
        # A name is not broken over lines, and a sentence is.
        ("n", "demo-broker-1", "<td class=short>demo-broker-1</td>"),
        ("n", "two words", "<td>two words</td>"),
    ],
)
def test_values_are_shown_for_people(name: str, value: object, expected: str) -> None:
    assert shown(value, name) == expected


def test_times_have_the_moment_behind_them() -> None:
    found = shown(1_700_000_000_000, "at_ms")

    assert found.startswith('<td class=number><time datetime="2023-11-14T22:13:20.000+00:00"')
    assert found.endswith(" ago</time></td>")


def test_long_values_are_shown_by_their_beginning() -> None:
    found = shown("k" * 4_096)

    assert f"<summary>{'k' * 120}…</summary>" in found
    assert f"<code>{'k' * 4_096}</code>" in found
    assert len(shown("v" * 1_000_000)) < 20_000


def test_shares_and_trends_are_drawn() -> None:
    assert 'value="0.750"' in shown(Share(3, 4))
    assert "<polyline" in shown(Trend([0, 2.5]))
    assert shown(Trend([0, 2.5])).endswith(" 2.5</td>")
    assert shown(Trend([])) == "<td></td>"


@pytest.mark.parametrize("text", ["2020-01-02T03:04:05Z", "2020-01-02T03:04:05.678Z"])
def test_a_time_that_a_command_prints_is_told_from_now(text: str) -> None:
    found = shown(text)

    assert "days ago</time>" in found
    assert 'datetime="2020-01-02T03:04:05' in found
    # What only looks like one is text.
    assert "<time" not in shown(text.replace("01", "21", 1).replace("Z", ""))
