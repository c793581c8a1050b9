"""What operators want to know of the brokers: shards count it, and their leader tells it."""
