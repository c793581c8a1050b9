"""A cluster of real `quorate serve` processes, on loopback ports reserved for them."""

from quorate.testing.cluster.cluster import QUICK_ELECTIONS, Cluster
from quorate.testing.cluster.node_process import NodeProcess

__all__ = ["QUICK_ELECTIONS", "Cluster", "NodeProcess"]
