"""A shard as files: sent to followers that are far behind, backed up, restored."""
