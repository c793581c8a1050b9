"""Where the workers are, and the timer of their lives."""

from typing import Final

from quorate.plugin import ColumnFamily, keys

from quorate_connector.shard import GROUP, shard_key
from quorate_connector.v1.tasks_pb2 import Worker

#: By name.
WORKERS: Final = "connector.workers"
#: The timer of the workers' lives: its deadlines have the keys of `life_key`.
LIVENESS: Final = "connector.worker_liveness"


def worker_key(name: str) -> bytes:
    """Return the key of a worker."""
    return keys.pack(name)


def life_key(name: str, epoch: int) -> bytes:
    """Return the key of a registration's deadline: that of another one of the name differs."""
    return keys.pack(name, epoch)


FAMILIES: Final = (ColumnFamily(name=WORKERS, group=GROUP, row=Worker, shard_key=shard_key),)
