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


class _Tree(Generic[V]):
    """Named values by paths of levels."""

    def __init__(self) -> None:
        self.root: Final[_Node[V]] = _Node()

    def put(self, path: str, name: str, value: V) -> None:
        """Keep a value, in place of an earlier one of the name."""
        node = self.root
        for level in path.split("/"):
            node = node.levels.setdefault(level, _Node())
        node.values[name] = value

    def drop(self, path: str, name: str) -> None:
        """Forget a value, if there is one, and the levels that nothing needs any more."""
        passed, node = [], self.root
        for level in path.split("/"):
            below = node.levels.get(level)
            if below is None:
                return
            passed.append((node, level))
            node = below
        node.values.pop(name, None)
        for above, level in reversed(passed):
            below = above.levels[level]
            if below.values or below.levels:
                return
            del above.levels[level]


class FilterTree(_Tree[V]):
    """Values by valid filter and holder, found by the topics that the filters stand for."""

    def match(self, topic: str) -> Iterator[tuple[str, V]]:
        """Yield holders and values; a holder comes once for each of its filters that fits."""
        levels = topic.split("/")
        # Wildcards do not stand for a first level that begins with `$`.
        hidden = topic.startswith("$")
        nodes = [(self.root, 0)]
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
        return bool(self.root.levels)


class TopicTree(Generic[V]):
    """Values by topic, found by valid filters."""

    def __init__(self) -> None:
        self._tree: Final[_Tree[V]] = _Tree()
        self._values: Final[dict[str, V]] = {}

    def put(self, topic: str, value: V) -> None:
        """Store the value of a topic, in place of the old one."""
        self._values[topic] = value
        self._tree.put(topic, topic, value)

    def drop(self, topic: str) -> None:
        """Forget the value of a topic, if there is one."""
        if self._values.pop(topic, None) is not None:
            self._tree.drop(topic, topic)

    def get(self, topic: str) -> V | None:
        """Return the value of a topic, or None."""
        return self._values.get(topic)

    def topics(self) -> list[str]:
        """Return all topics."""
        return list(self._values)

    def match(self, topic_filter: str) -> Iterator[V]:
        """Yield the values of the topics that a filter stands for."""
        levels = topic_filter.split("/")
        nodes = [(self._tree.root, 0)]
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
                if node is not self._tree.root or not name.startswith("$")
            )
            if level == "+":
                nodes += [(below, place + 1) for below in fitting]
                continue
            yield from node.values.values()
            nodes += [(below, place) for below in fitting]

    def __len__(self) -> int:
        return len(self._values)
