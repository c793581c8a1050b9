"""Sessions: the broker of each client, the end of its session, and the rows that end with it."""
