"""One replica of one shard: its write path, its reads, its log."""
