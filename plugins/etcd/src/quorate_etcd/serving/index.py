"""Which watches a change concerns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, TypeVar

from quorate_etcd.store.view import Span

if TYPE_CHECKING:
    from quorate_etcd.serving.streams import Watcher

K = TypeVar("K")
_Watchers = dict["Watcher", None]


class Index:
    """Watches by their keys. A change looks at its key, at its prefixes, and at other ranges."""

    def __init__(self) -> None:
        self._keys: Final[dict[bytes, _Watchers]] = {}
        self._prefixes: Final[dict[bytes, _Watchers]] = {}
        #: How many prefixes of a length there are.
        self._lengths: Final = Counter[int]()
        self._others: Final[dict[Span, _Watchers]] = {}

    def add(self, watcher: Watcher) -> None:
        """Let a watch be found."""
        span = watcher.span
        if span.single:
            self._keys.setdefault(span.start, {})[watcher] = None
        elif _is_prefix(span):
            if span.start not in self._prefixes:
                self._lengths[len(span.start)] += 1
            self._prefixes.setdefault(span.start, {})[watcher] = None
        else:
            self._others.setdefault(span, {})[watcher] = None

    def remove(self, watcher: Watcher) -> None:
        """Forget a watch."""
        span = watcher.span
        if span.single:
            _remove(self._keys, span.start, watcher)
        elif _is_prefix(span):
            if _remove(self._prefixes, span.start, watcher):
                self._lengths[len(span.start)] -= 1
                if not self._lengths[len(span.start)]:
                    del self._lengths[len(span.start)]
        else:
            _remove(self._others, span, watcher)

    def matching(self, key: bytes) -> Iterator[Watcher]:
        """Yield the watches of a key."""
        yield from self._keys.get(key, ())
        for length in self._lengths:
            if length <= len(key):
                yield from self._prefixes.get(key[:length], ())
        for span, watchers in self._others.items():
            if span.holds(key):
                yield from watchers

    def all(self) -> list[Watcher]:
        """Return every watch."""
        by_span = (*self._keys.values(), *self._prefixes.values(), *self._others.values())
        return [watcher for watchers in by_span for watcher in watchers]


def _is_prefix(span: Span) -> bool:
    start, end = span
    # An end that is one larger in its last byte has all keys that begin with the start.
    return (
        end is not None
        and len(end) == len(start)
        and start[:-1] == end[:-1]
        and end[-1] == start[-1] + 1
    )


def _remove(found: dict[K, _Watchers], at: K, watcher: Watcher) -> bool:
    """Remove a watch; return whether it was the last one there."""
    found[at].pop(watcher, None)
    if found[at]:
        return False
    del found[at]
    return True
