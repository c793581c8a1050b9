"""What follows the events of shards: watches, caches, and copies in other shards."""
