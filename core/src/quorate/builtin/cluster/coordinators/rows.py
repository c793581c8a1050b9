"""The rows and keys of coordinators, and of an index of the keys of each registration."""

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
    """The brokers that may coordinate a key: their role, cluster name and labels."""

    role: str
    cluster_name: str
    labels: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, choosing: pb.Coordinator | pb.AssignCoordinator) -> Self:
        """Return the candidates that a row or a request names."""
        labels = tuple(sorted(choosing.labels.items()))
        return cls(choosing.role, choosing.cluster_name, labels)

    @classmethod
    def unpacked(cls, packed: bytes) -> Self:
        """Return the candidates that `packed` encoded."""
        role, cluster_name, *labels = map(str, keys.unpack(packed))
        return cls(role, cluster_name, tuple(zip(labels[::2], labels[1::2], strict=True)))

    def packed(self) -> bytes:
        """Return the candidates as bytes: equal ones have equal bytes."""
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
    """A key that one registration of a broker coordinates; epoch 0: it waits for a broker."""

    broker_epoch: int
    #: The packed `Candidates`: waiting keys are grouped by the brokers that they wait for.
    candidates: bytes
    #: The key of the row.
    row: bytes

    @classmethod
    def of(cls, row: pb.Coordinator) -> Self:
        """Return the assignment of a row."""
        return cls(row.broker_epoch, Candidates.of(row).packed(), row_key(row))

    @classmethod
    def unpacked(cls, key: bytes) -> Self:
        """Return the assignment that a key of the index encodes."""
        broker_epoch, candidates, row = keys.unpack(key)
        assert isinstance(broker_epoch, int)
        assert isinstance(candidates, bytes)
        assert isinstance(row, bytes)
        return cls(broker_epoch, candidates, row)

    def packed(self) -> bytes:
        """Return the key in the index."""
        return keys.pack(*self)


def row_key(named: pb.Coordinator | pb.AssignCoordinator | pb.ReleaseCoordinator) -> bytes:
    """Return the key of a row: the rows of a role lie together, by key."""
    return keys.pack(named.role, named.key)
