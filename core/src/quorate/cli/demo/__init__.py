"""`quorate demo`: fills a cluster with something to look at, and keeps it moving."""
