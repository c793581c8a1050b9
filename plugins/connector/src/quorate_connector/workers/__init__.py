"""The workers: which are registered, which reported in time, and which are being drained."""
