"""Simulated clusters that host a domain of their own, whose every promise is judged."""
