"""What each node does for the clients of etcd."""
