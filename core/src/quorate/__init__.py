"""Quorate: a metadata service for message brokers, built as a plugin framework."""
