"""The scheduler, which assigns tasks to workers."""
