"""Filters and topics as trees of levels: a match costs time for its results alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Generic, TypeVar

V = TypeVar("V")


class _Node(Generic[V]):
    __slots__ = ("levels", "values")

    def __init__(self) -> None:
        self.levels: dict[str, _Node[V]] = {}
        self.values: dict[str, V] = {}


class FilterTree(Generic[V]):
    """Values by valid filter and holder, found by the topics that the filters stand for."""

    def __init__(self) -> None:
        self._root: Final[_Node[V]] = _Node()

    def put(self, topic_filter: str, holder: str, value: V) -> None:
        """Keep a value, in place of the holder's earlier one for this filter."""
        node = self._root
        for level in topic_filter.split("/"):
            node = node.levels.setdefault(level, _Node())
        node.values[holder] = value

    def drop(self, topic_filter: str, holder: str) -> None:
        """Forget a value, if there is one."""
        path, node = [], self._root
        for level in topic_filter.split("/"):
            below = node.levels.get(level)
            if below is None:
                return
            path.append((node, level))
            node = below
        node.values.pop(holder, None)
        for above, level in reversed(path):
            below = above.levels[level]
            if below.values or below.levels:
                return
            del above.levels[level]

    def match(self, topic: str) -> Iterator[tuple[str, V]]:
        """Yield holders and values; a holder comes once for each of its filters that fits."""
        levels = topic.split("/")
        # Wildcards do not stand for a first level that begins with `$`.
        hidden = topic.startswith("$")
        nodes = [(self._root, 0)]
        while nodes:
            node, place = nodes.pop()
            if (rest := node.levels.get("#")) is not None and not (hidden and place == 0):
                yield from rest.values.items()
            if place == len(levels):
                yield from node.values.items()
                continue
            if (same := node.levels.get(levels[place])) is not None:
                nodes.append((same, place + 1))
            if (any_one := node.levels.get("+")) is not None and not (hidden and place == 0):
                nodes.append((any_one, place + 1))

    def __bool__(self) -> bool:
        return bool(self._root.levels)


class TopicTree(Generic[V]):
    """Values by topic, found by valid filters."""

    def __init__(self) -> None:
        self._root: Final[_Node[V]] = _Node()
        self._values: Final[dict[str, V]] = {}

    def put(self, topic: str, value: V) -> None:
        """Store the value of a topic, in place of the old one."""
        self._values[topic] = value
        node = self._root
        for level in topic.split("/"):
            node = node.levels.setdefault(level, _Node())
        node.values[topic] = value

    def drop(self, topic: str) -> None:
        """Forget the value of a topic, if there is one."""
        if self._values.pop(topic, None) is None:
            return
        path, node = [], self._root
        for level in topic.split("/"):
            path.append((node, level))
            node = node.levels[level]
        del node.values[topic]
        for above, level in reversed(path):
            below = above.levels[level]
            if below.values or below.levels:
                return
            del above.levels[level]

    def get(self, topic: str) -> V | None:
        """Return the value of a topic, or None."""
        return self._values.get(topic)

    def topics(self) -> list[str]:
        """Return all topics."""
        return list(self._values)

    def match(self, topic_filter: str) -> Iterator[V]:
        """Yield the values of the topics that a filter stands for."""
        levels = topic_filter.split("/")
        nodes = [(self._root, 0)]
        while nodes:
            node, place = nodes.pop()
            if place == len(levels):
                yield from node.values.values()
                continue
            level = levels[place]
            if level not in ("+", "#"):
                if (below := node.levels.get(level)) is not None:
                    nodes.append((below, place + 1))
                continue
            # Wildcards do not stand for a first level that begins with `$`.
            fitting = (
                below
                for name, below in node.levels.items()
                if node is not self._root or not name.startswith("$")
            )
            if level == "+":
                nodes += [(below, place + 1) for below in fitting]
                continue
            yield from node.values.values()
            nodes += [(below, place) for below in fitting]

    def __len__(self) -> int:
        return len(self._values)
