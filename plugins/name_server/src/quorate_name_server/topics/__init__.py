"""Topics: their queues on brokers, and the mappings of static topics."""
