"""Automatic subscriptions: what clients are subscribed to without asking."""
