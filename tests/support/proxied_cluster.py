"""A cluster with a proxy in front of each node, for each other node and for its clients."""

from collections.abc import Collection
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
    ) -> None:
        self._proxies: Final = Proxies().__enter__()
        self._between: Final[dict[tuple[str, str], Proxy]] = {}
        self._fronts: Final[dict[str, Proxy]] = {}
        super().__init__(directory, nodes, plugins=plugins, settings=settings)
        self._exit.push(self._proxies)

    def partition(self, name: str, *, clients: bool = False) -> None:
        """Cut a node off from all others, and from its clients if that is wanted."""
        for pair, proxy in self._between.items():
            if name in pair:
                proxy.cut()
        if clients:
            self._fronts[name].cut()

    def heal(self) -> None:
        """Heal every proxy."""
        for proxy in (*self._between.values(), *self._fronts.values()):
            proxy.heal()

    def proxy(self, source: str, target: str) -> Proxy:
        """Return the proxy of the connections that one node opens to another."""
        return self._between[source, target]

    def _front(self, name: str, address: str, peer_port: int) -> str:
        self._fronts[name] = self._proxies.to(address, peer_port)
        return self._fronts[name].address

    def _address(self, source: str, target: str) -> str:
        node = self.nodes[target]
        if source == target:
            return node.address
        pair = source, target
        if pair not in self._between:
            self._between[pair] = self._proxies.to(node.bound, node.peer_port)
        return self._between[pair].address
