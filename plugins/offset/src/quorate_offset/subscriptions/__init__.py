"""Subscription groups: the settings by which brokers serve consumer groups."""
