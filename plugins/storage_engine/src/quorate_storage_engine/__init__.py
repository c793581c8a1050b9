"""Engine shards and their segments: who holds what, who leads it, and what is to be dropped."""
