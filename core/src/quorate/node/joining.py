"""How a node waits to be added to the cluster that it is to join."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection
from typing import Final

from google.protobuf.message import DecodeError

from quorate.consensus.formation import Introduction
from quorate.consensus.peer.network import IntroductionRefusedError
from quorate.groups.shard.shard import Shard
from quorate.node.addresses import Addresses
from quorate.v1.node_pb2 import NodeIntroduction

_log = logging.getLogger(__name__)

#: How often the others are asked where all of them are: who leads must be let in.
_ASK_S: Final = 0.5

#: Asks a node who it is; raises `IntroductionRefusedError`.
Introduce = Callable[[str], Awaitable[Introduction]]


class Joining:
    """Learns from the nodes of a cluster where the others are, until metadata/0 comes."""

    def __init__(
        self,
        join: Collection[str],
        addresses: Addresses,
    ) -> None:
        self._join: Final = sorted(join)
        self._addresses: Final = addresses

    def hear(self, other: Introduction) -> None:
        """Take what another node of the cluster says of all nodes."""
        try:
            about = NodeIntroduction.FromString(other.about)
        except DecodeError:
            return
        self._addresses.hear({each.node: each.address for each in about.nodes})

    async def admitted(self, metadata: Shard, introduce: Introduce) -> None:
        """Return once this node's replica of metadata/0 knows its members."""
        if metadata.configuration is not None:
            return
        come = asyncio.Event()
        cancel = metadata.subscribe(lambda _: come.set())
        _log.info(
            "waiting to be added: run `quorate member add %s ADDRESS`, with the address at which"
            " the other nodes reach this one",
            metadata.me.node,
        )
        try:
            while metadata.configuration is None:
                await asyncio.gather(*(self._ask(introduce, node) for node in self._join))
                try:
                    async with asyncio.timeout(_ASK_S):
                        await come.wait()
                except TimeoutError:
                    continue
        finally:
            cancel()

    async def _ask(self, introduce: Introduce, node: str) -> None:
        try:
            self.hear(await introduce(node))
        except IntroductionRefusedError as error:
            _log.debug("cannot ask where the nodes are: %s", error)
