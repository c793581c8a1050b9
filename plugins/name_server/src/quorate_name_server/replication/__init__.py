"""The replicas of brokers whose master is elected, as RocketMQ's controller has them."""
