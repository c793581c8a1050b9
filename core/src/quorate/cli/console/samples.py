"""The histories of nodes, put together for charts."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from quorate.cli.console.charts import Chart, chart
from quorate.cli.console.html import Link, anchor
from quorate.cli.console.words import size_text
from quorate.cli.samples import fetched
from quorate.cli.statuses import Silent, Status
from quorate.observe.history import BUCKETS, Sample, decoded, quantile_s

if TYPE_CHECKING:
    from quorate.client import AsyncClient

#: The ranges to choose from, in seconds, by what people call them.
RANGES: Final = {"5m": 300, "15m": 900, "1h": 3_600}
_RANGE: Final = "15m"
#: The places of a chart.
_PLACES: Final = 60

Samples = Mapping[str, Sequence[Sample]]


def range_of(query: Mapping[str, str]) -> str:
    """Return the range that a query asks for."""
    asked = query.get("range", "")
    return asked if asked in RANGES else _RANGE


async def samples_of(client: AsyncClient, statuses: Mapping[str, Status], last_s: int) -> Samples:
    """Return the samples of each node that answers; none of one that keeps no history."""
    answering = {name: each for name, each in statuses.items() if not isinstance(each, Silent)}

    def read(address: str) -> Sequence[Sample]:
        text = fetched(address, client.tls, f"/history?last_s={last_s}")
        return [] if isinstance(text, OSError) else decoded(text.encode())

    found = await asyncio.gather(
        *(asyncio.to_thread(read, each.http_address) for each in answering.values())
    )
    return dict(zip(answering, found, strict=True))


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
