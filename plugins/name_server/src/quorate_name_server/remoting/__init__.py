"""RocketMQ's own protocol: stock brokers, clients and tools use Quorate as their name server."""
