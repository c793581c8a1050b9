"""One replica of one shard in a process of its own, with everything real but the state machine."""
