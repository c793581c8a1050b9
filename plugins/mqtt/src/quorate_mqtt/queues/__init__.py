"""Queues of messages that wait for clients with sessions."""
