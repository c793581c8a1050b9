"""The test kit for authors of plugins; the extra `testing` installs its dependencies.

Each name is imported when it is first used, so that unit tests with `MemoryTxn` need no server.
"""

from typing import TYPE_CHECKING

from quorate.plugin.lazily import lazily

if TYPE_CHECKING:
    from quorate.testing.cli import Cli as Cli
    from quorate.testing.conformance import PluginConformance as PluginConformance
    from quorate.testing.memory_client import MemoryClient as MemoryClient
    from quorate.testing.node import MemoryNode as MemoryNode
    from quorate.testing.shard import InternalError as InternalError
    from quorate.testing.simulated import simulate as simulate
    from quorate.testing.txn import MemoryTxn as MemoryTxn

__all__, __dir__, __getattr__ = lazily(
    __name__,
    {
        "quorate.testing.cli": "Cli",
        "quorate.testing.conformance": "PluginConformance",
        "quorate.testing.memory_client": "MemoryClient",
        "quorate.testing.node": "MemoryNode",
        "quorate.testing.shard": "InternalError",
        "quorate.testing.simulated": "simulate",
        "quorate.testing.txn": "MemoryTxn",
    },
)
