"""Turns the entries of a shard's log into rows, events and answers, the same on every replica."""
