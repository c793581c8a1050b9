"""Tenants, which own rows of other domains, and quotas of tenants and callers."""
