"""The server: connections, watches, and the order in which both are answered."""
