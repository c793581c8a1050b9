"""Leases, locks with fence tokens, elections, and rows that go with their lease."""
