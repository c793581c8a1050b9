"""What the leader of a shard alone does: controllers, timers, and the spreading of leaders."""
