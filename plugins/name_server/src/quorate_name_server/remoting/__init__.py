"""RocketMQ's own protocol, so that stock brokers, clients and tools use Quorate."""
