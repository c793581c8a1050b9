"""Connectors: their versioned definitions, and the targets of their tasks."""
