"""A simulated cluster of whole nodes, whose shards are split while it is used."""
