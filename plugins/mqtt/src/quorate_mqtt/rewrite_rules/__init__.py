"""Rewrite rules: which topics are turned into others."""
