"""The engines between the methods of a node and the sockets of their callers."""
