"""Which watches a change concerns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from quorate_etcd.serving.spans import Spans
from quorate_etcd.store.view import Span

if TYPE_CHECKING:
    from quorate_etcd.serving.streams import Watcher


class Index:
    """Watches by their keys. A change costs no look at the watches of other keys."""

    def __init__(self) -> None:
        #: Those of one key have it as the start of their range.
        self._watchers: Final[dict[Span, dict[Watcher, None]]] = {}
        #: The ranges of more than one key.
        self._ranges: Final = Spans()

    def add(self, watcher: Watcher) -> None:
        """Let a watch be found."""
        span = watcher.span
        if span not in self._watchers:
            self._watchers[span] = {}
            if not span.single:
                self._ranges.add(span)
        self._watchers[span][watcher] = None

    def remove(self, watcher: Watcher) -> None:
        """Forget a watch."""
        span = watcher.span
        del self._watchers[span][watcher]
        if not self._watchers[span]:
            del self._watchers[span]
            if not span.single:
                self._ranges.remove(span)

    def matching(self, key: bytes) -> Iterator[Watcher]:
        """Yield the watches of a key."""
        yield from self._watchers.get(Span.of(key, b""), ())
        for span in self._ranges.holding(key):
            yield from self._watchers[span]

    def all(self) -> list[Watcher]:
        """Return every watch."""
        return [watcher for watchers in self._watchers.values() for watcher in watchers]
