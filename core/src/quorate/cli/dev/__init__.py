"""`quorate dev`: a whole cluster of node processes on this machine, for a developer."""
