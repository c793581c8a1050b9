"""Routes: the brokers and queues of topics, from rows or from memory."""
