"""The reads: they run where the rows are."""

from collections.abc import Iterator
from typing import Final

from quorate.builtin.cluster.coordinators.assigning import LiveBrokers
from quorate.builtin.cluster.coordinators.rows import (
    ASSIGNMENTS,
    COORDINATORS,
    Assignment,
    Candidates,
    row_key,
)
from quorate.plugin import Reader, keys
from quorate.v1 import coordinator_pb2 as pb

#: Assignments that are found, and moved, at a time: each is weighed against every live broker.
MOST_MOVES: Final = 200


def find_coordinators(reader: Reader, query: pb.FindCoordinators) -> Iterator[pb.Coordinator]:
    """Yield the requested coordinators that are live and have the requested candidates."""
    live = LiveBrokers(reader)
    values = reader.get_values(COORDINATORS, [row_key(each) for each in query.coordinators])
    for wanted, value in zip(query.coordinators, values, strict=True):
        if value is None:
            continue
        row = pb.Coordinator.FromString(value)
        if live.include(row.broker_epoch) and Candidates.of(row) == Candidates.of(wanted):
            yield row


def find_moves(reader: Reader, query: pb.FindCoordinatorMoves) -> Iterator[pb.CoordinatorMove]:
    """Yield the assignments to move; all of one broker are checked together."""
    live = LiveBrokers(reader)
    left = min(query.limit or MOST_MOVES, MOST_MOVES)
    start, end = keys.prefix()
    while left and (rows := list(reader.scan(ASSIGNMENTS, start, end, limit=1))):
        first = Assignment.unpacked(rows[0].key)
        if first.broker_epoch:
            alike = keys.prefix(first.broker_epoch)
            movable = not live.include(first.broker_epoch)
        else:
            alike = keys.prefix(0, first.candidates)
            movable = bool(live.among(Candidates.unpacked(first.candidates)))
        for row in reader.scan(ASSIGNMENTS, *alike, limit=left) if movable else ():
            yield pb.CoordinatorMove(assignment=row.key)
            left -= 1
        start = alike[1]
