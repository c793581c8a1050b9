"""The systems that `peers.py` measures, and the clients that ask them."""

import os
import sys
from pathlib import Path

# Processes that ask are started beside connections that are open: gRPC has nothing to do there.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
# The peers are built by what the tests build them with.
sys.path.append(str(Path(__file__).parents[2]))
