"""Charts, drawn as SVG, with their values in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import Final, NamedTuple

_WIDTH: Final = 320
_HEIGHT: Final = 96
#: Below the line: the ends of the time.
_FOOT: Final = 16


class Chart(NamedTuple):
    """Values over a time; None: nothing is known of that moment."""

    title: str
    #: From when on, in words.
    since: str
    values: Sequence[float | None]
    shown: Callable[[float], str]
    #: The value that the whole height stands for; 0: the greatest one.
    most: float = 0.0


def chart(drawn: Chart) -> str:
    """Return a chart with its title, its newest value and its greatest one."""
    known = [each for each in drawn.values if each is not None]
    title = escape(drawn.title)
    if not known:
        empty = "No samples yet: each node takes one every ten seconds."
        return f'<figure><figcaption>{title}</figcaption><p class="quiet">{empty}</p></figure>'
    top = drawn.most or max(known) or 1.0
    now, most = escape(drawn.shown(known[-1])), escape(drawn.shown(max(known)))
    return (
        f"<figure><figcaption>{title} <strong>{now}</strong></figcaption>"
        f'<svg class="chart" viewBox="0 0 {_WIDTH} {_HEIGHT + _FOOT}" role="img"'
        f' aria-label="{title}: now {now}, at most {most}, since {escape(drawn.since)}">'
        f'<path class="grid" d="M0 1H{_WIDTH}M0 {_HEIGHT // 2}H{_WIDTH}M0 {_HEIGHT}H{_WIDTH}"/>'
        f"{_lines(drawn.values, top)}"
        f'<text x="2" y="12">{escape(drawn.shown(top))}</text>'
        f'<text x="0" y="{_HEIGHT + 13}">{escape(drawn.since)}</text>'
        f'<text x="{_WIDTH}" y="{_HEIGHT + 13}" class="end">now</text></svg></figure>'
    )


def _lines(values: Sequence[float | None], top: float) -> str:
    """Draw a line through each run of known values."""
    step = _WIDTH / max(1, len(values) - 1)
    runs: list[list[str]] = [[]]
    for place, value in enumerate(values):
        if value is None:
            runs.append([])
        else:
            height = _HEIGHT - (_HEIGHT - 2) * min(1.0, value / top)
            runs[-1].append(f"{place * step:.0f},{height:.1f}")
    # A value alone is a line of one place.
    whole = [run if len(run) > 1 else run * 2 for run in runs if run]
    return "".join(f'<polyline points="{" ".join(run)}"/>' for run in whole)
