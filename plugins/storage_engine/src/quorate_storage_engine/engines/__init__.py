"""The engines: their load, and taking them out of service."""
