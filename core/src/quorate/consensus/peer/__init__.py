"""Carries the messages of all shards between nodes, over gRPC."""
