"""ZooKeeper on Quorate: znodes, sessions and watches, over the protocol of its clients."""
