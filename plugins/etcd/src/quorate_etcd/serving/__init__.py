"""The services of each node for the clients of etcd."""
