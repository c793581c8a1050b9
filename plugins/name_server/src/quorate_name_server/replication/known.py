"""The cache of replica sets on every node, which serves them without a call to their shard."""

from __future__ import annotations

import time
from typing import Final

from quorate.plugin import Cache, keys

from quorate_name_server.families import GROUP, RENEWALS
from quorate_name_server.replication.rows import HEARTBEAT_TIMEOUT_MS, SETS, replica_of
from quorate_name_server.v1 import replica_sets_pb2 as pb


class KnownReplicas:
    """The replica sets; the host feeds them on every node.

    It also holds the state of this node alone: lives that it has extended, and epochs of masters
    that it has notified replicas of.
    """

    def __init__(self) -> None:
        #: Returns seconds; tests replace it.
        self.clock = time.monotonic
        #: By the name of the broker.
        self.sets: Final[dict[str, pb.ReplicaSet]] = {}
        #: The epochs of the master and of the in-sync set in the last notification, by name.
        self.notified: Final[dict[str, tuple[int, int]]] = {}
        #: By name and id: the time of the last extension of a replica's life, and its epoch then.
        self._prolonged: Final[dict[str, dict[int, tuple[float, int]]]] = {}

    def __eq__(self, other: object) -> bool:
        """Return whether both hold the same rows."""
        return self.sets == other.sets if isinstance(other, KnownReplicas) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def reset(self) -> None:
        """Forget all rows, before the host lists them again."""
        for held in (self.sets, self.notified, self._prolonged):
            held.clear()

    def put(self, family: str, key: bytes, row: bytes) -> None:
        """Store a new or changed row."""
        replicas = pb.ReplicaSet.FromString(row)
        self.sets[replicas.name] = replicas

    def delete(self, family: str, key: bytes) -> None:
        """Forget a row."""
        name = str(keys.unpack(key)[0])
        self.sets.pop(name, None)
        self.notified.pop(name, None)
        self._prolonged.pop(name, None)

    def replica(self, name: str, number: int) -> pb.Replica | None:
        """Return a replica, or None."""
        return replica_of(self.sets.get(name), number)

    def is_fresh(self, heartbeat: pb.ReplicaHeartbeat) -> bool:
        """Return whether this node has recently extended the life of a replica.

        A heartbeat of another epoch, or of a replica marked as dead, must be proposed.
        """
        replica = self.replica(heartbeat.name, heartbeat.id)
        at_s, epoch = self._prolonged.get(heartbeat.name, {}).get(heartbeat.id, (0.0, None))
        if replica is None or not replica.alive or epoch != heartbeat.state.epoch:
            return False
        rest_s = (heartbeat.timeout_ms or HEARTBEAT_TIMEOUT_MS) / RENEWALS / 1_000
        return self.clock() - at_s < rest_s

    def prolonged(self, heartbeat: pb.ReplicaHeartbeat) -> None:
        """Record that the life of a replica was extended."""
        if heartbeat.name in self.sets:
            renewals = self._prolonged.setdefault(heartbeat.name, {})
            renewals[heartbeat.id] = self.clock(), heartbeat.state.epoch


CACHE: Final = Cache(
    name="name_server.known_replicas", group=GROUP, families=(SETS,), factory=KnownReplicas
)
