"""Copies a tree from one server of ZooKeeper's protocol to another, and follows it."""
