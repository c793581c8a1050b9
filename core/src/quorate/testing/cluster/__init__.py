"""A cluster of real `quorate serve` processes, on loopback ports that nobody else is given."""

from quorate.testing.cluster.cluster import Cluster
from quorate.testing.cluster.node_process import NodeProcess

__all__ = ["Cluster", "NodeProcess"]
