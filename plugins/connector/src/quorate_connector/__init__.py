"""Connectors between topics and outside systems, and their tasks over workers, for Quorate."""
