"""Engine shards and their segments: replicas, leaders, and pending drops."""
