"""Subscription groups: how groups of consumers are to be served."""
