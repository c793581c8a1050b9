"""Connectors to Redis streams: a type of connectors for Quorate, by a third party."""
