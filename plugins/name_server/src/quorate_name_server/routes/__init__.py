"""Routes: where clients find the queues of topics, from rows or from memory."""
