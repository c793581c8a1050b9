"""A node's disk: what outlives its process, and what outlives a power loss."""

from random import Random

from quorate.consensus.messages import Peer
from quorate.storage.data.home import MemoryHome
from quorate.storage.engine.memory import MemoryDisk
from quorate.storage.log.witness import MemoryWitnesses
from quorate.storage.notes import MemoryNotes


def draw_replica_id(node: str, rng: Random) -> int:
    """Draw the number that tells a node's directory from any that it had before."""
    return rng.getrandbits(64)


class Disk:
    """The directories of one node, from the day that they were made."""

    def __init__(self, node: str, shards: tuple[str, ...], rng: Random) -> None:
        self.peer = Peer(node, draw_replica_id(node, rng))
        #: What the node wrote as its first entry, once it was formed; None while it is new.
        self.first_entry: bytes | None = None
        #: It is a copy that was made before the process last wrote to it.
        self.is_older = False
        #: It cannot form a cluster: its replicas are empty and wait until a leader adds them.
        self.waits = False
        self.log = MemoryDisk(of_log=True)
        self.witnesses = MemoryWitnesses()
        self.homes = {shard: MemoryHome() for shard in shards}
        self.notes = MemoryNotes()

    @property
    def databases(self) -> list[MemoryDisk]:
        """Every database on it."""
        return [self.log, *(disk for home in self.homes.values() for disk in home.disks.values())]

    def kill(self) -> None:
        """The process ended."""
        self.log.kill()
        for home in self.homes.values():
            home.kill()

    def lose_power(self, rng: Random) -> None:
        """The machine ended."""
        self.log.lose_power(rng)
        self.witnesses.lose_power(rng)
        for home in self.homes.values():
            home.lose_power(rng)
