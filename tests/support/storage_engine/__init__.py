"""What authors of engines test with: StorageNodes to ask, and a cluster in memory to be part of."""
