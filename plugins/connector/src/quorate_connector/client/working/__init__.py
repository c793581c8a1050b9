"""The worker: runs the tasks that the cluster gives to it."""
