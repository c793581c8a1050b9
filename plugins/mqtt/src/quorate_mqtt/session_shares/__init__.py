"""The limit on a tenant's sessions, divided over the shards: each holds its share on its own."""
