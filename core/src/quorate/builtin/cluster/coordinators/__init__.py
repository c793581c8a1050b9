"""Coordinators: one live broker for each key, under an epoch that rises when it changes."""
