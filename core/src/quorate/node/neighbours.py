"""Whether a node's directory is one of the cluster of the nodes that its file names."""

from collections.abc import Collection, Iterator
from typing import Final


class Neighbours:
    """What the nodes that a file names have said of their cluster.

    A directory of another cluster lies here when some of them belong to another cluster and none
    has been met that belongs to this one. One of many that does is the one that is misplaced.
    """

    def __init__(self, named: Collection[str]) -> None:
        self._named: Final = frozenset(named)
        self._ours: Final = set[str]()
        self._strangers: Final = set[str]()

    def met(self, node: str, *, ours: bool) -> None:
        """Record the cluster of a node that has proved that it knows the token."""
        if node in self._named:
            (self._ours if ours else self._strangers).add(node)
            (self._strangers if ours else self._ours).discard(node)

    @property
    def confirmed(self) -> bool:
        """Whether one of them belongs to the cluster of this directory."""
        return bool(self._ours)

    @property
    def misplaced(self) -> str | None:
        """Why no client may be served from this directory, or None."""
        if self._ours or not self._strangers:
            return None
        names = ", ".join(sorted(self._strangers))
        return (
            f"this directory belongs to another cluster than {names}, which [cluster] names here;"
            " give this node the node.dir that it had, or an empty one and [cluster] join, or take"
            " the addresses of another cluster out of its file"
        )

    def alarms(self) -> Iterator[str]:
        """Yield the nodes that are strangers among those of this cluster."""
        for node in sorted(self._strangers):
            yield (
                f"{node} answers at its address with a directory of another cluster; give it the"
                " node.dir that it had, or an empty one and [cluster] join"
            )
