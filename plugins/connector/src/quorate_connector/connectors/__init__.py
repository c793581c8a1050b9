"""Connectors: what they do, in versions, and what their tasks are to do."""
