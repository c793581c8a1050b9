"""Sessions: who serves each client, until when its session lasts, and what ends with it."""
