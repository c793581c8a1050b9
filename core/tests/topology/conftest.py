"""The clusters of the tests of replicas."""

from core.tests.shards.replicas.conftest import cluster, new_cluster, new_command, new_row

__all__ = ["cluster", "new_cluster", "new_command", "new_row"]
