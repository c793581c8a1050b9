"""What a running node shows of itself, and where tests may interfere with it."""
