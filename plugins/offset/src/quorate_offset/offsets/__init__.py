"""Offsets: commits, fences, resets, deletions, and how they are read."""
