"""Changes of shards: each a function from its row and its shard to the next step."""
