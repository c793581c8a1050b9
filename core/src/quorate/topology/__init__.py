"""The life of shards: all that creates, moves, splits, merges, opens and removes them."""
