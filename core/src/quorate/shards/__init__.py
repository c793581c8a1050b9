"""Shards: routing, proposal batching, the read barrier, snapshots and watches."""
