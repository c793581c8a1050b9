"""Coordinators: one live broker for each key. A live coordinator is read, not assigned again."""

from collections.abc import Sequence
from typing import Any, Final

from quorate.builtin.cluster.coordinators import apply, queries
from quorate.builtin.cluster.coordinators.rows import COORDINATORS, Assignment, Candidates, row_key
from quorate.builtin.cluster.families import BROKERS, GROUP
from quorate.builtin.cluster.validation import check_labels, check_text, check_wanted
from quorate.plugin import (
    Access,
    Admission,
    Checks,
    Controller,
    Invalid,
    NodeApi,
    Query,
    Resource,
    Serving,
    ShardRef,
    Verb,
)
from quorate.plugin.advanced import constant_key, split_invalid
from quorate.plugin.checking import check_bytes, check_count, check_each
from quorate.plugin.singles import only_reply
from quorate.v1 import coordinator_pb2 as pb
from quorate.v1.batch_pb2 import BatchReply

#: Each may have to be weighed against every live broker.
MOST_ASSIGNMENTS: Final = 1_000
LONGEST_KEY: Final = 1_024
#: Role, cluster name and labels together, as they are packed.
LARGEST_CANDIDATES: Final = 1_024


def check_assignment(wanted: pb.AssignCoordinator, path: str = "") -> None:
    """Refuse an assignment without key or role, or with more labels than fit."""
    check_text(f"{path}role", wanted.role)
    check_key(f"{path}key", wanted.key)
    check_wanted(f"{path}cluster_name", wanted.cluster_name)
    check_labels(f"{path}labels", wanted.labels)
    size = len(Candidates.of(wanted).packed())
    if size > LARGEST_CANDIDATES:
        raise Invalid(
            f"{path}labels",
            f"must have at most {LARGEST_CANDIDATES} bytes with role and cluster name, not {size}",
        )


def check_assignments(command: pb.AssignCoordinators) -> None:
    """Refuse a batch that is too long or has an invalid item, and name the item."""
    check_count("coordinators", command.coordinators, MOST_ASSIGNMENTS)
    check_each("coordinators", command.coordinators, check_assignment)


def check_key(field: str, key: str) -> None:
    """Refuse a key that is empty, too long or not printable."""
    if not key:
        raise Invalid(field, "must not be empty")
    if not key.isprintable():
        raise Invalid(field, "must not hold control characters or line breaks")
    check_bytes(field, key.encode(), LONGEST_KEY)


class CoordinatorReads:
    """The methods that are not derived: most calls find a live coordinator and write nothing."""

    def __init__(self, node: NodeApi) -> None:
        self._node: Final = node

    async def Get(self, request: pb.AssignCoordinator, context: object) -> pb.Coordinator:
        """Return the coordinator of a key; assign one first if it has none."""
        check_assignment(request)
        return pb.Coordinator.FromString(only_reply(await self._get([request])))

    async def GetBatch(self, request: pb.AssignCoordinators, context: object) -> BatchReply:
        """Return the coordinators of many keys; a refused key does not affect the others."""
        check_count("coordinators", request.coordinators, MOST_ASSIGNMENTS)
        if not request.coordinators:
            return BatchReply()
        checked = split_invalid("coordinators", request.coordinators, check_assignment)
        return await checked.execute(self._get)

    async def _get(self, wanted: Sequence[pb.AssignCoordinator]) -> BatchReply:
        query = pb.FindCoordinators(coordinators=wanted)
        found = {row_key(row): row async for row in self._node.query(query, pb.Coordinator)}
        if all(row_key(each) in found for each in wanted):
            rows = (found[row_key(each)] for each in wanted)
            return BatchReply(
                items=len(wanted),
                replies=[row.SerializeToString(deterministic=True) for row in rows],
            )
        return await self._node.propose(pb.AssignCoordinators(coordinators=wanted), BatchReply)


QUERIES: Final[tuple[Query[Any], ...]] = tuple(
    Query(message=message, group=GROUP, run=run, shard_key=constant_key)
    for message, run in (
        (pb.FindCoordinators, queries.find_coordinators),
        (pb.FindCoordinatorMoves, queries.find_moves),
    )
)


async def move(node: NodeApi, shard: ShardRef) -> None:
    """Move keys of lost brokers, and waiting keys, until none is left to move."""
    query = pb.FindCoordinatorMoves(limit=queries.MOST_MOVES)
    while found := [each.assignment async for each in node.query(query, pb.CoordinatorMove)]:
        await node.propose(pb.MoveCoordinators(assignments=found), BatchReply, if_leader=shard)


MOVING: Final = Controller(
    name="cluster.coordinator_moving",
    group=GROUP,
    run_once=move,
    # It is woken when brokers come and go: this is for a run that failed.
    interval_s=10.0,
    wake_on=(BROKERS,),
)


#: The rows lie with those of the brokers: a key is assigned only to a registered one.
COORDINATOR: Final = Resource(
    family=COORDINATORS,
    row=pb.Coordinator,
    service=pb.DESCRIPTOR.services_by_name["CoordinatorService"],
    serving=Serving(
        servicer=CoordinatorReads,
        access={
            "Get": Access(right="write", domain=COORDINATORS, key="role"),
            "GetBatch": Access(
                right="write", domain=COORDINATORS, items="coordinators", key="role"
            ),
        },
        # A name that no broker can have is refused.
        keep=lambda request: check_wanted("broker", request.broker),
    ),
    key=("role", "key"),
    check_key={"role": check_text, "key": check_key},
    verbs={
        "Assign": Verb(
            apply_all=apply.assign_each,
            check=Checks(command=check_assignments),
            message=pb.AssignCoordinators,
            admission=Admission(public=True),
            examples=(
                pb.AssignCoordinator(role="mqtt", key="jobs"),
                pb.AssignCoordinator(
                    role="engine",
                    key="logs/1",
                    cluster_name="north",
                    labels={"zone": "a", "rack": "7"},
                ),
            ),
        ),
        "Release": Verb(
            apply=apply.release, examples=(pb.ReleaseCoordinator(role="mqtt", key="jobs"),)
        ),
        "Move": Verb(
            apply_all=apply.move_each,
            message=pb.MoveCoordinators,
            examples=(
                Assignment.of(pb.Coordinator(role="mqtt", key="jobs", broker_epoch=2)).packed(),
            ),
        ),
    },
)
