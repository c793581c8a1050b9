"""Where the nodes of the cluster are found, as this node knows it."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from quorate.config import Settings
from quorate.groups.shard.shard import Shard
from quorate.storage.families import MEMBERS, NODES
from quorate.storage.rows import value_of
from quorate.v1.control_pb2 import MemberRow, NodeDeclaration


def addresses_of(settings: Settings) -> Mapping[str, str]:
    """Return where a node's file says that nodes are, itself among them."""
    node, cluster = settings.node, settings.cluster
    return {node.name: node.address, **(cluster.join or cluster.initial_members)}


class Addresses:
    """The addresses of all nodes, this one's too.

    What an operator gave when a node was added counts first, then what this node's own file says,
    then what each node reports of itself, then what others reported before metadata/0 came.
    """

    def __init__(self, own: Mapping[str, str]) -> None:
        self._own: Final = dict(own)
        self._followers: Final[list[Callable[[Mapping[str, str]], None]]] = []
        self._heard: dict[str, str] = {}
        self._reported: dict[str, str] = {}
        self._given: dict[str, str] = {}
        self._known: dict[str, str] = dict(own)
        self._changes_read = -1

    @property
    def known(self) -> Mapping[str, str]:
        """Where each node is found."""
        return self._known

    def share(self, know: Callable[[Mapping[str, str]], None]) -> None:
        """Pass them on, now and whenever they change."""
        self._followers.append(know)
        know(self._known)

    def hear(self, nodes: Mapping[str, str]) -> None:
        """Take what another node of the cluster knows."""
        self._heard.update(nodes)
        self._settle()

    def follow(self, metadata: Shard) -> None:
        """Go by what metadata/0 says, from now on."""
        metadata.subscribe(lambda _: self._read(metadata))
        self._read(metadata)

    def _read(self, metadata: Shard) -> None:
        changes = metadata.applier.cluster_changes
        if changes == self._changes_read:
            return
        self._changes_read = changes
        nodes = map(NodeDeclaration.FromString, _values(metadata, NODES))
        members = map(MemberRow.FromString, _values(metadata, MEMBERS))
        self._reported = {row.node: row.address for row in nodes}
        self._given = {row.node: row.address for row in members if row.address}
        self._settle()

    def _settle(self) -> None:
        known = self._heard | self._reported | self._own | self._given
        if known != self._known:
            self._known = known
            for know in self._followers:
                know(known)


def _values(metadata: Shard, family: str) -> Iterable[bytes]:
    return (value_of(row) for _, row in metadata.data.iterate(family, b"", None))
