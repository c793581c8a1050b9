"""The tasks of connectors: states, history and cursors."""
