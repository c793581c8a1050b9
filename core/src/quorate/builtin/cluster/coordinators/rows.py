"""Where the rows are: the coordinators, and an index of what each registration coordinates."""

from typing import Final, NamedTuple, Self

from quorate.plugin import keys
from quorate.v1 import coordinator_pb2 as pb
from quorate.v1.cluster_pb2 import Broker

COORDINATORS: Final = "cluster.coordinators"
#: Private: an `Assignment` for each row.
ASSIGNMENTS: Final = "cluster.coordinator_assignments"
#: The sequence of the epochs, one for all coordinators.
EPOCHS: Final = "cluster.coordinator_epochs"


class Candidates(NamedTuple):
    """Which brokers may coordinate."""

    role: str
    cluster_name: str
    labels: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, choosing: pb.Coordinator | pb.AssignCoordinator) -> Self:
        """Return what is asked for."""
        labels = tuple(sorted(choosing.labels.items()))
        return cls(choosing.role, choosing.cluster_name, labels)

    @classmethod
    def unpacked(cls, packed: bytes) -> Self:
        """Return what was packed."""
        role, cluster_name, *labels = map(str, keys.unpack(packed))
        return cls(role, cluster_name, tuple(zip(labels[::2], labels[1::2], strict=True)))

    def packed(self) -> bytes:
        """Return the same as bytes: equal ones have equal bytes."""
        return keys.pack(
            self.role, self.cluster_name, *(part for each in self.labels for part in each)
        )

    def include(self, broker: Broker) -> bool:
        """Return whether a broker may coordinate."""
        return (
            self.role in broker.roles
            and self.cluster_name in ("", broker.cluster_name)
            and all(broker.labels.get(label) == value for label, value in self.labels)
        )


class Assignment(NamedTuple):
    """What is given to one registration of a broker; of one that waits for a broker, epoch 0."""

    broker_epoch: int
    #: The packed `Candidates`: those that wait are looked at by whom they wait for.
    candidates: bytes
    #: The key of the row.
    row: bytes

    @classmethod
    def of(cls, row: pb.Coordinator) -> Self:
        """Return what stands for a row."""
        return cls(row.broker_epoch, Candidates.of(row).packed(), row_key(row))

    @classmethod
    def unpacked(cls, key: bytes) -> Self:
        """Return what a key of the index stands for."""
        broker_epoch, candidates, row = keys.unpack(key)
        assert isinstance(broker_epoch, int)
        assert isinstance(candidates, bytes)
        assert isinstance(row, bytes)
        return cls(broker_epoch, candidates, row)

    def packed(self) -> bytes:
        """Return the key in the index."""
        return keys.pack(*self)


def row_key(named: pb.Coordinator | pb.AssignCoordinator | pb.ReleaseCoordinator) -> bytes:
    """Return the key of a row: those of a role lie together, by key."""
    return keys.pack(named.role, named.key)
