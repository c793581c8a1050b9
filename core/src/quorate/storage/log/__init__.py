"""The Raft log of a node: one database for all its shards."""
