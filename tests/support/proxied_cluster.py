"""A cluster with a proxy in front of each node, for each other node and for its clients."""

from collections.abc import Collection
from itertools import chain
from pathlib import Path
from typing import Final

from quorate.testing.cluster import Cluster
from quorate.testing.cluster.cluster import Settings

from tests.support.proxies import Proxies, Proxy


class ProxiedCluster(Cluster):
    """Nodes that can be cut off from each other and from their clients."""

    def __init__(
        self,
        directory: Path,
        nodes: int = 3,
        *,
        plugins: Collection[str] = (),
        settings: Settings | None = None,
        shard: str = "metadata/0",
    ) -> None:
        #: The shard whose leader faults look for.
        self.shard: Final = shard
        self._proxies: Final = Proxies().__enter__()
        self._between: Final[dict[tuple[str, str], Proxy]] = {}
        self._fronts: Final[dict[str, list[Proxy]]] = {}
        super().__init__(directory, nodes, plugins=plugins, settings=settings)
        self._exit.push(self._proxies)

    def partition(self, name: str, *, clients: bool = False) -> None:
        """Cut a node off from all others, and from its clients if that is wanted."""
        for pair, proxy in self._between.items():
            if name in pair:
                proxy.cut()
        if clients:
            for front in self._fronts[name]:
                front.cut()

    def heal(self) -> None:
        """Heal every proxy."""
        for proxy in (*self._between.values(), *chain(*self._fronts.values())):
            proxy.heal()

    def proxy(self, source: str, target: str) -> Proxy:
        """Return the proxy of the connections that one node opens to another."""
        return self._between[source, target]

    def front(self, name: str, address: str) -> str:
        """Return the address of a proxy before another port for the clients of a node."""
        self._fronts[name].append(self._proxies.to(address))
        return self._fronts[name][-1].address

    def _front(self, name: str, address: str, peer_port: int) -> str:
        self._fronts[name] = [self._proxies.to(address, peer_port)]
        return self._fronts[name][0].address

    def _address(self, source: str, target: str) -> str:
        node = self.nodes[target]
        if source == target:
            return node.address
        pair = source, target
        if pair not in self._between:
            self._between[pair] = self._proxies.to(node.bound, node.peer_port)
        return self._between[pair].address
