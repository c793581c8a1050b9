"""Ranges of keys by which of them hold a key.

A treap in the order of the ranges, of which each part knows the largest end in it: whatever ends
at or before a key is passed over, and whatever begins after it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from quorate_etcd.store.view import Span


class Spans:
    """A set of ranges."""

    def __init__(self) -> None:
        self._root: _Part | None = None

    def add(self, span: Span) -> None:
        """Add a range that is not in it."""
        less, rest = _split(self._root, _order(span))
        self._root = _joined(_joined(less, _Part(span)), rest)

    def remove(self, span: Span) -> None:
        """Remove a range that is in it."""
        self._root = _without(self._root, _order(span))

    def holding(self, key: bytes) -> Iterator[Span]:
        """Yield the ranges that hold a key."""
        parts = [self._root]
        while parts:
            part = parts.pop()
            if part is None or (part.most is not None and part.most <= key):
                continue
            parts.append(part.left)
            span = part.span
            if span.start <= key:
                parts.append(part.right)
                if span.end is None or key < span.end:
                    yield span


class _Part:
    """A range, with those before and after it."""

    __slots__ = ("left", "most", "order", "right", "span", "weight")

    def __init__(self, span: Span) -> None:
        self.span: Final = span
        self.order: Final = _order(span)
        #: A heavier part is above a lighter one. No client knows the seed of Python's hashes.
        self.weight: Final = hash(span)
        self.left: _Part | None = None
        self.right: _Part | None = None
        #: The largest end of its ranges; None: one of them has no end.
        self.most = span.end

    def with_parts(self, left: _Part | None, right: _Part | None) -> _Part:
        """Set what is before and after it; return it."""
        self.left, self.right = left, right
        most = self.span.end
        for part in (left, right):
            if most is not None and part is not None:
                most = None if part.most is None else max(most, part.most)
        self.most = most
        return self


def _order(span: Span) -> tuple[bytes, bool, bytes]:
    return span.start, span.end is None, span.end or b""


def _split(
    part: _Part | None, order: tuple[bytes, bool, bytes]
) -> tuple[_Part | None, _Part | None]:
    """Split into what is before a place, and what is not."""
    if part is None:
        return None, None
    if part.order < order:
        less, rest = _split(part.right, order)
        return part.with_parts(part.left, less), rest
    less, rest = _split(part.left, order)
    return less, part.with_parts(rest, part.right)


def _joined(left: _Part | None, right: _Part | None) -> _Part | None:
    """Join two parts, of which one is before the other."""
    if left is None or right is None:
        return left or right
    if left.weight > right.weight:
        return left.with_parts(left.left, _joined(left.right, right))
    return right.with_parts(_joined(left, right.left), right.right)


def _without(part: _Part | None, order: tuple[bytes, bool, bytes]) -> _Part | None:
    assert part is not None, "it is in the set"
    if order == part.order:
        return _joined(part.left, part.right)
    if order < part.order:
        return part.with_parts(_without(part.left, order), part.right)
    return part.with_parts(part.left, _without(part.right, order))
