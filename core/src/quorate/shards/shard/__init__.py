"""A replica of a shard: its write path, its reads, its log."""
