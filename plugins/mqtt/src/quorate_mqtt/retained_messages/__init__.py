"""Retained messages: the last message of each topic that was published to be retained."""
