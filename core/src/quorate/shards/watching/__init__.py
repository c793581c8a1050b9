"""Consumers of shards' events: watches, caches, and copies in other shards."""
