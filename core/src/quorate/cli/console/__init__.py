"""The console: pages in a browser about a cluster, served by each of its nodes."""
