"""What the author of a plugin tests it with: the extra `testing` installs what it needs."""

from quorate.testing.conformance import PluginConformance
from quorate.testing.node import MemoryNode
from quorate.testing.shard import InternalError
from quorate.testing.txn import MemoryTxn

__all__ = ["InternalError", "MemoryNode", "MemoryTxn", "PluginConformance"]
