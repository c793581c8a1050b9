"""The scheduler: which worker has which task."""
