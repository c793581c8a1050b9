"""etcd's clients on Quorate."""
