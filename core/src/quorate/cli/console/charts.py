"""Charts of the histories of nodes, drawn as SVG, with their values in words."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Final, NamedTuple

from quorate.cli.console.html import Link, anchor
from quorate.cli.console.words import size_text
from quorate.cli.samples import fetched, of_answering
from quorate.cli.statuses import Status
from quorate.observe.history import BUCKETS, Sample, decoded, quantile_s

if TYPE_CHECKING:
    from quorate.client import AsyncClient

#: The ranges to choose from, in seconds, by what people call them.
RANGES: Final = {"5m": 300, "15m": 900, "1h": 3_600}
_RANGE: Final = "15m"
#: The places of a chart.
_PLACES: Final = 60
_WIDTH: Final = 320
_HEIGHT: Final = 96
#: Below the line: the ends of the time.
_FOOT: Final = 16

Samples = Mapping[str, Sequence[Sample]]


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


def range_of(query: Mapping[str, str]) -> str:
    """Return the range that a query asks for."""
    asked = query.get("range", "")
    return asked if asked in RANGES else _RANGE


async def samples_of(client: AsyncClient, statuses: Mapping[str, Status], last_s: int) -> Samples:
    """Return the samples of each node that answers; none of one that keeps no history."""

    def read(address: str) -> Sequence[Sample]:
        text = fetched(address, client.tls, f"/history?last_s={last_s}")
        return [] if isinstance(text, OSError) else decoded(text.encode())

    return await of_answering(statuses, read)


def ranges(chosen: str, path: str) -> str:
    """Return links to the ranges."""
    links = " ".join(
        anchor(Link(each, path, {"range": each}), current=each == chosen) for each in RANGES
    )
    return f'<p class="ranges" role="group" aria-label="Range of the charts">{links}</p>'


def charts(samples: Samples, chosen: str) -> str:
    """Return charts of what nodes did within a range."""
    last_s = RANGES[chosen]
    width_s = last_s / _PLACES
    now_s = time.time()
    places: list[list[Sample]] = [[] for _ in range(_PLACES)]
    for each in (sample for kept in samples.values() for sample in kept):
        place = _PLACES - 1 - int((now_s - each.at_ms / 1e3) // width_s)
        if 0 <= place < _PLACES:
            places[place].append(each)

    def drawn(
        title: str,
        value: Callable[[Sequence[Sample]], float | None],
        shown: Callable[[float], str],
        most: float = 0.0,
    ) -> str:
        values = [value(each) if each else None for each in places]
        if width_s <= 10:
            values = _bridged(values)
        return chart(Chart(title, f"{chosen} ago", values, shown, most))

    def rate(counted: Callable[[Sample], float]) -> Callable[[Sequence[Sample]], float]:
        # Each node samples on its own.
        return lambda found: sum(counted(each) for each in found) / width_s

    return (
        '<div class="charts">'
        + "".join(
            (
                drawn("Commands written a second", rate(lambda each: each.commands), _number),
                drawn("Reads a second", rate(lambda each: sum(each.reads)), _number),
                drawn("Writes, p99", lambda found: _p99(each.writes for each in found), _ms),
                drawn("Reads, p99", lambda found: _p99(each.reads for each in found), _ms),
                drawn(
                    "Fsync of the log, p99", lambda found: _p99(each.syncs for each in found), _ms
                ),
                drawn("Fullest disk", _fullest, lambda share: f"{share:.0%}", 1.0),
            )
        )
        + "</div>"
    )


def disk_rows(samples: Samples) -> Sequence[tuple[str, int, int]]:
    """Return the used and the whole bytes of the disk of each node, by its newest sample."""
    newest = {node: kept[-1] for node, kept in samples.items() if kept}
    return [
        (node, each.disk_size - each.disk_free, each.disk_size) for node, each in newest.items()
    ]


def disk_text(used: float, size: float) -> str:
    """Return what of a disk is free."""
    return f"{size_text(size - used)} free of {size_text(size)}"


def _p99(histograms: Iterable[Sequence[int]]) -> float | None:
    buckets = [0] * BUCKETS
    for each in histograms:
        buckets = [one + other for one, other in zip(buckets, each, strict=True)]
    return quantile_s(buckets, 0.99)


def _fullest(found: Sequence[Sample]) -> float | None:
    shares = [1 - each.disk_free / each.disk_size for each in found if each.disk_size]
    return max(shares, default=None)


def _bridged(values: Sequence[float | None]) -> list[float | None]:
    """Fill in places that lie between two samples of a node."""
    filled = list(values)
    for place in range(1, len(filled) - 1):
        if filled[place] is None and filled[place + 1] is not None:
            filled[place] = filled[place - 1]
    return filled


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


def _ms(value: float) -> str:
    if value >= 1:
        return f"{value:,.1f} s"
    return f"{1e3 * value:.0f} ms" if value >= 0.1 else f"{1e3 * value:.3g} ms"
