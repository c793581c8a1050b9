"""Finds damage on the disks of a node and wrong or slow answers, and rebuilds replicas."""
