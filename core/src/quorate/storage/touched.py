"""When families last changed, so that a reader of a few can skip entries about others."""

from collections.abc import Collection, Iterable
from typing import Final, NamedTuple


class _Span(NamedTuple):
    """The newest run of entries that changed a family, and the last change before it."""

    before: int
    first: int
    last: int


class Touched:
    """Covers the entries stored since the data was opened, and no older ones."""

    def __init__(self, applied: int) -> None:
        self._known_from: Final = applied
        self._applied = applied
        self._spans: Final[dict[str, _Span]] = {}
        #: The first of the entries that were recorded last, and the names of these.
        self._newest: tuple[int, Collection[str]] = applied + 1, ()

    def record(self, names: Collection[str], first: int, last: int) -> None:
        """Record the families that entries changed, and the full names of emitted messages."""
        spans, since = self._spans, self._known_from
        for name in names:
            known = spans.get(name)
            spans[name] = _Span(since if known is None else known.last, first, last)
        self._applied, self._newest = last, (first, names)

    def unchanged_to(self, names: Iterable[str], index: int) -> int:
        """Return the last index up to which none of these changed after `index`, if known."""
        if index < self._known_from:
            return index
        to = self._applied
        for name in names:
            span = self._spans.get(name)
            if span is None or span.last <= index:
                continue
            if index < span.before:
                return index
            to = min(to, span.first - 1)
        return max(to, index)

    def changed(self, names: Iterable[str], index: int) -> bool:
        """Whether one of these may have changed after `index`."""
        return self.unchanged_to(names, index) < self._applied

    def those_changed(self, names: Iterable[str], index: int) -> list[str]:
        """Return the names of what may have changed after `index`."""
        first, newest = self._newest
        if index + 1 == first:
            return [name for name in names if name in newest]
        return [name for name in names if self.changed((name,), index)]
