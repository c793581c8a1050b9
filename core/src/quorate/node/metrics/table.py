"""Metrics as rows of a table."""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, TypeVar

from quorate.observe.figures import Figure, Reading

S = TypeVar("S")

#: Name, kind, labels, help, and how the metric is read from its source.
Row = tuple[
    str,
    Literal["counter", "gauge", "histogram"],
    tuple[str, ...],
    str,
    Callable[[S], Iterable[Reading]],
]


def table(rows: Sequence[Row[S]]) -> Sequence[Figure[S]]:
    """Return the metrics of the rows."""
    return [
        Figure(name=name, kind=kind, labels=labels, help=text, read=read)
        for name, kind, labels, text, read in rows
    ]
