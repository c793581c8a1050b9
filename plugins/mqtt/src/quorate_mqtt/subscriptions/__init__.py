"""Subscriptions: they lie with the session of their client, and end with it."""
