"""ZooKeeper's clients on Quorate."""
