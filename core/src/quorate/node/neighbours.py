"""Checks that a node's directory belongs to the cluster of the nodes that its file names."""

from collections.abc import Collection, Iterator
from typing import Final


class Neighbours:
    """The clusters reported by the nodes that a file names.

    The directory is misplaced if some of them belong to another cluster and none that has been met
    belongs to this one. If others do belong to this one, the one that differs is misplaced.
    """

    def __init__(self, named: Collection[str]) -> None:
        self._named: Final = frozenset(named)
        self._ours: Final = set[str]()
        self._strangers: Final = set[str]()

    def met(self, node: str, *, ours: bool) -> None:
        """Record the cluster of a node that has proved its knowledge of the token."""
        if node in self._named:
            (self._ours if ours else self._strangers).add(node)
            (self._strangers if ours else self._ours).discard(node)

    @property
    def confirmed(self) -> bool:
        """Whether one of the nodes belongs to the cluster of this directory."""
        return bool(self._ours)

    @property
    def misplaced(self) -> str | None:
        """The reason not to serve clients from this directory, or None."""
        if self._ours or not self._strangers:
            return None
        names = ", ".join(sorted(self._strangers))
        return (
            f"this directory belongs to another cluster than {names}, which [cluster] names here;"
            " give this node its own node.dir, or an empty one and [cluster] join, or remove the"
            " addresses of another cluster from its file"
        )

    def alarms(self) -> Iterator[str]:
        """Yield an alarm for each named node that belongs to another cluster."""
        for node in sorted(self._strangers):
            yield (
                f"{node} answers at its address with a directory of another cluster; give it its"
                " own node.dir, or an empty one and [cluster] join"
            )
