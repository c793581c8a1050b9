"""The worker, which runs the tasks that the cluster assigns to it."""
