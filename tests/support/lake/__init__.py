"""Spark in processes of its own, for tests."""
