"""Keeps notes: one resource with a verb of its own."""
