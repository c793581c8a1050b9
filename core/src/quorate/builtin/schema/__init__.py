"""Schemas of a tenant, in numbered versions, and the resources that they are bound to."""
