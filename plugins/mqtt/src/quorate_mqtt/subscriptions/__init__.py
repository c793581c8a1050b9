"""Subscriptions: they share the shard of their client's session, and end with it."""
