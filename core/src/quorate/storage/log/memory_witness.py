"""Witnesses for tests and simulation, which survive a crash just as files do."""

from random import Random
from typing import Final

from quorate.storage.log.witness import Durable


class MemoryWitnesses:
    """Outlives the process; a power loss takes back or tears what was not synced."""

    def __init__(self) -> None:
        #: Per shard, the durable durable and those that were written over it; None is a torn one.
        self._versions: Final[dict[str, list[Durable | None]]] = {}

    def read(self, shard: str) -> Durable | None:
        """Return a shard's durable; None when it is missing or torn."""
        return self._versions.get(shard, [None])[-1]

    def write(self, shard: str, durable: Durable) -> None:
        """Set a shard's durable, unsynced."""
        versions = self._versions.setdefault(shard, [None])
        versions.append(durable)
        if len(versions) > 8:
            del versions[1]

    def sync(self, shard: str) -> None:
        """Make a shard's durable durable."""
        versions = self._versions.setdefault(shard, [None])
        del versions[:-1]

    def remove(self, shard: str) -> None:
        """Forget a shard's durable, durably; there need not be one."""
        self._versions.pop(shard, None)

    def close(self) -> None:
        """There is nothing to close."""

    def lose_power(self, rng: Random) -> None:
        """Each durable falls back to any that was written since it was synced, or is torn."""
        for versions in self._versions.values():
            if len(versions) > 1:
                versions[:] = [rng.choice([*versions, None])]
