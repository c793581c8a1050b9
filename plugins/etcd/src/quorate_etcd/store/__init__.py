"""How keys, revisions and leases are stored, read and changed; handlers run on the leader."""
