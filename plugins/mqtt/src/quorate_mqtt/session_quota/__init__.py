"""The limit on a tenant's sessions, divided among the shards: each enforces its own quota."""
