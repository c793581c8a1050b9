"""The segments of shards: their rows, their ends and their in-sync replicas."""
