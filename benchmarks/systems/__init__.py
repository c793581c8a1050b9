"""The systems that `peers.py` measures, and the clients that ask them."""

import os

# Processes that ask are started beside connections that are open: gRPC has nothing to do there.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
