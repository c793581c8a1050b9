"""Expiry: groups that nobody uses are deleted, and forgotten later."""
