"""Brokers: their members, how long these live, and whether clients may write to them."""
