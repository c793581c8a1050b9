"""The limit on a tenant's sessions, divided over the shards: each holds its quota on its own."""
