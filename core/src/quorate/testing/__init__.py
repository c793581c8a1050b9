"""The test kit for authors of plugins; the extra `testing` installs its dependencies.

Each name is imported when it is first used, so that unit tests with `MemoryTxn` need no server.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from quorate.testing.cli import Cli
    from quorate.testing.conformance import PluginConformance
    from quorate.testing.memory_client import MemoryClient
    from quorate.testing.node import MemoryNode
    from quorate.testing.shard import InternalError
    from quorate.testing.simulated import simulate
    from quorate.testing.txn import MemoryTxn

__all__ = [
    "Cli",
    "InternalError",
    "MemoryClient",
    "MemoryNode",
    "MemoryTxn",
    "PluginConformance",
    "simulate",
]

_MODULES: Final = {
    "Cli": "cli",
    "InternalError": "shard",
    "MemoryClient": "memory_client",
    "MemoryNode": "node",
    "MemoryTxn": "txn",
    "PluginConformance": "conformance",
    "simulate": "simulated",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
