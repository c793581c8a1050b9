"""Tenants: the plugin's part in their deletion."""
