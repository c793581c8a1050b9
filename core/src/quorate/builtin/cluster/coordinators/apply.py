"""The verbs of coordinators: assign a key to a live broker, move it from a lost one, release it."""

from functools import partial

from quorate.builtin.cluster.coordinators.assigning import LiveBrokers, assign, chosen
from quorate.builtin.cluster.coordinators.rows import (
    ASSIGNMENTS,
    COORDINATORS,
    Assignment,
    Candidates,
    row_key,
)
from quorate.plugin import Rejected, Txn
from quorate.plugin.advanced import answer_each
from quorate.v1 import coordinator_pb2 as pb
from quorate.v1.batch_pb2 import BatchReply


def assign_each(txn: Txn, command: pb.AssignCoordinators) -> BatchReply:
    """Assign a coordinator to each key that has none."""
    return answer_each(txn, command.coordinators, partial(_assign, live=LiveBrokers(txn)))


def move_each(txn: Txn, command: pb.MoveCoordinators) -> BatchReply:
    """Move the keys of lost brokers to others; an assignment that has changed since stays."""
    live = LiveBrokers(txn)
    for assignment in command.assignments:
        if txn.get(ASSIGNMENTS, assignment) is not None:
            _move(txn, Assignment.unpacked(assignment), live)
    return BatchReply(items=len(command.assignments))


def _assign(txn: Txn, wanted: pb.AssignCoordinator, live: LiveBrokers) -> pb.Coordinator:
    value = txn.get(COORDINATORS, row_key(wanted))
    row = pb.Coordinator(
        role=wanted.role,
        key=wanted.key,
        cluster_name=wanted.cluster_name,
        labels=wanted.labels,
    )
    if value is not None:
        row = pb.Coordinator.FromString(value)
        if Candidates.of(row) != Candidates.of(wanted):
            raise Rejected(
                "FAILED_PRECONDITION",
                f"{wanted.key} of role {wanted.role} is coordinated among brokers of cluster name "
                f"{row.cluster_name!r} with labels {dict(row.labels)}; ask for the same, or "
                "release it first",
            )
        if live.include(row.broker_epoch):
            return row
    broker = chosen(row, live)
    if broker is None:
        raise Rejected(
            "NO_BROKER",
            f"no live broker of role {wanted.role} has that cluster name and those labels; try "
            "again when one has registered",
        )
    assign(txn, row, broker)
    return row


def release(txn: Txn, named: pb.ReleaseCoordinator) -> None:
    """Delete the coordinator of a key, if it has the given epoch; zero is any epoch."""
    key = row_key(named)
    value = txn.get(COORDINATORS, key)
    if value is None:
        raise Rejected("NOT_FOUND", f"{named.key} of role {named.role} has no coordinator")
    row = pb.Coordinator.FromString(value)
    if named.epoch not in (0, row.epoch):
        raise Rejected(
            "FENCED",
            f"{named.key} of role {named.role} is coordinated under epoch {row.epoch}, and this "
            f"release is of epoch {named.epoch}",
        )
    txn.delete(ASSIGNMENTS, Assignment.of(row).packed())
    txn.delete(COORDINATORS, key)


def _move(txn: Txn, assignment: Assignment, live: LiveBrokers) -> None:
    value = txn.get(COORDINATORS, assignment.row)
    if value is None or live.include(assignment.broker_epoch):
        return
    row = pb.Coordinator.FromString(value)
    broker = chosen(row, live)
    # A key without a broker that finds none stays as it is.
    if broker is not None or row.broker_epoch:
        assign(txn, row, broker)
