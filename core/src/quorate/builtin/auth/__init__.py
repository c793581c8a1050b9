"""Identities, their tokens and roles: rows, mirrored in memory on every node."""
