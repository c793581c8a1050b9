"""Turns the entries of a shard's log into rows, events and answers, alike on every replica."""
