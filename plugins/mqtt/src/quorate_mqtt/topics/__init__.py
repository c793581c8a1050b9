"""Topics: their configuration, partitions that only grow, and deletion in two phases."""
