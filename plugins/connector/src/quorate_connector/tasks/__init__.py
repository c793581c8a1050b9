"""The tasks of connectors: their states, their history, and how far they have come."""
