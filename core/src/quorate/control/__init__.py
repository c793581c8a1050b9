"""The work of a shard's leader: controllers, timers, and the balance of leaders."""
