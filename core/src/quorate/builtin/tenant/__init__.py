"""Tenants: whose data the rows of other domains are, and how much of it there may be."""
