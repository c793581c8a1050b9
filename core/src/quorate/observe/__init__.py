"""Logs, metrics and HTTP of a running node, and failpoints for tests."""
