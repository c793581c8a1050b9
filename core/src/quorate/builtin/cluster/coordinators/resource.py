"""Coordinators: one live broker for each key. Those that stand are read, and not assigned again."""

from collections.abc import Sequence
from typing import Any, Final

from quorate.builtin.cluster.coordinators import apply, queries, validation
from quorate.builtin.cluster.coordinators.rows import COORDINATORS, Assignment, row_key
from quorate.builtin.cluster.families import GROUP
from quorate.builtin.cluster.validation import check_text
from quorate.plugin import NodeApi, Query, Resource, Verb, constant_key, keys, split_invalid
from quorate.plugin.checking import LARGEST_PAGE, PAGE
from quorate.plugin.singles import only_reply
from quorate.v1 import coordinator_pb2 as pb
from quorate.v1.batch_pb2 import BatchReply


class CoordinatorReads:
    """The methods that are not derived: most of their calls find what stands and write nothing."""

    def __init__(self, node: NodeApi) -> None:
        self._node: Final = node

    async def Get(self, request: pb.AssignCoordinator, context: object) -> pb.Coordinator:
        """Return the coordinator of a key, which is assigned first if there is none."""
        validation.check_assignment(request)
        return pb.Coordinator.FromString(only_reply(await self._get([request])))

    async def GetBatch(self, request: pb.AssignCoordinators, context: object) -> BatchReply:
        """Return those of many keys; one that is refused does not keep the others from it."""
        validation.check_count(request)
        if not request.coordinators:
            return BatchReply()
        checked = split_invalid("coordinators", request.coordinators, validation.check_assignment)
        return await checked.execute(self._get)

    async def List(
        self, request: pb.ListCoordinatorsRequest, context: object
    ) -> pb.ListCoordinatorsResponse:
        """List a page of the coordinators that fit."""
        validation.check_list(request)
        start, end = keys.prefix(request.role) if request.role else keys.prefix()
        size = min(request.page_size or PAGE, LARGEST_PAGE)
        if request.page_token:
            # A token of another role begins after every row of this one.
            start = min(max(start, keys.successor(request.page_token)), end)
        query = pb.ListCoordinators(start=start, end=end, limit=size)
        found = [row async for row in self._node.query(query, pb.Coordinator)]
        return pb.ListCoordinatorsResponse(
            coordinators=[row for row in found if request.broker in ("", row.broker)],
            next_page_token=row_key(found[-1]) if len(found) == size else b"",
        )

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
        (pb.ListCoordinators, queries.list_coordinators),
        (pb.FindCoordinatorMoves, queries.find_moves),
    )
)

#: They lie with the brokers, and are assigned to none that is not there.
COORDINATOR: Final = Resource(
    family=COORDINATORS,
    row=pb.Coordinator,
    service=pb.DESCRIPTOR.services_by_name["CoordinatorService"],
    servicer=CoordinatorReads,
    key=("role", "key"),
    check_key={"role": check_text, "key": validation.check_key},
    table=False,
    verbs={
        "Assign": Verb(
            apply_all=apply.assign_each,
            validate=validation.check_assignments,
            message=pb.AssignCoordinators,
            public=True,
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
