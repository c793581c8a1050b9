"""The systems that `peers.py` compares: three nodes of each, and the same load for all."""
