"""Brokers: their members, the members' lives, and the write permission."""
