"""The command groups `quorate name-server` and `quorate rocketmq`."""
