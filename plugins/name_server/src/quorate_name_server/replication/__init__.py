"""The replicas of brokers with an elected master, in place of RocketMQ's controller."""
