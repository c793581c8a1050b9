"""`quorate bench`: what a cluster carries, measured from this machine."""
