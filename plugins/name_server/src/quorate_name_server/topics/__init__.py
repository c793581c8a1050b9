"""Topics: their queues on brokers, and how those of static topics are mapped."""
