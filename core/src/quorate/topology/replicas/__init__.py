"""The replicas of this node: those to open, recover and remove, and those that are open."""
