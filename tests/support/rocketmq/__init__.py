"""Stock parts of RocketMQ beside Quorate: its name server, brokers, tools and clients."""
