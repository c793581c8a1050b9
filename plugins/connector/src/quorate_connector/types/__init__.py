"""Connector types: shipped types, types of plugins, and validation against them."""
