"""The engine shards: logs that are cut into segments."""
