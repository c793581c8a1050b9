"""Witnesses for tests and simulation, which crash as files do."""

from random import Random
from typing import Final

from quorate.storage.log.witness import Durable


class MemoryWitnesses:
    """Survives the process; a power loss reverts or tears unsynced writes."""

    def __init__(self) -> None:
        #: Per shard, the synced value and the unsynced ones after it; None is a torn one.
        self._versions: Final[dict[str, list[Durable | None]]] = {}

    def read(self, shard: str) -> Durable | None:
        """Return the durable state of a shard's log; None if it is missing or torn."""
        return self._versions.get(shard, [None])[-1]

    def write(self, shard: str, durable: Durable) -> None:
        """Write the durable state of a shard's log, unsynced."""
        versions = self._versions.setdefault(shard, [None])
        versions.append(durable)
        if len(versions) > 8:
            del versions[1]

    def sync(self, shard: str) -> None:
        """Sync the record of a shard."""
        versions = self._versions.setdefault(shard, [None])
        del versions[:-1]

    def remove(self, shard: str) -> None:
        """Remove the record of a shard durably, if it is there."""
        self._versions.pop(shard, None)

    def close(self) -> None:
        """Do nothing."""

    def lose_power(self, rng: Random) -> None:
        """Crash: each record reverts to the synced or a later value, or is torn."""
        for versions in self._versions.values():
            if len(versions) > 1:
                versions[:] = [rng.choice([*versions, None])]
