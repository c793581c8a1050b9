"""Who is who: what a node says of itself to others, and what it learns from them."""

from dataclasses import replace
from typing import Final

from quorate.apply.control import METADATA
from quorate.consensus.formation import Introduction
from quorate.groups.node_shards import NodeShards
from quorate.node.addresses import Addresses
from quorate.node.forming import Forming
from quorate.node.joining import Joining
from quorate.v1.admin_pb2 import NodeAddress
from quorate.v1.node_pb2 import NodeIntroduction


class Introductions:
    """Answers the other nodes that introduce themselves."""

    def __init__(
        self, forming: Forming, joining: Joining, addresses: Addresses, shards: NodeShards
    ) -> None:
        self._forming: Final = forming
        self._joining: Final = joining
        self._addresses: Final = addresses
        self._shards: Final = shards

    def answer(self, other: Introduction) -> Introduction:
        """Take what another node says of itself; raises `FormationRefusedError`."""
        self._forming.receive(other)
        metadata = self._shards.replica(METADATA)
        if other.first_entry and (metadata is None or metadata.configuration is None):
            self._joining.hear(other)
        return self.own()

    def own(self) -> Introduction:
        """Say who this node is, what it serves, and where the others are."""
        known = sorted(self._addresses.known.items())
        about = NodeIntroduction(
            declaration=self._shards.declaration,
            nodes=[NodeAddress(node=node, address=address) for node, address in known],
        )
        return replace(self._forming.introduction, about=about.SerializeToString())
