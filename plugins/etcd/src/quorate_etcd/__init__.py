"""etcd on Quorate: keys with revisions, transactions, watches and leases, by etcd's own API."""
