"""The words for assigning and reading coordinators."""

from typing import Any, Final

from quorate.builtin.cluster.coordinators import apply, queries, validation
from quorate.builtin.cluster.coordinators.rows import Assignment, row_key
from quorate.builtin.cluster.families import GROUP
from quorate.plugin import Command, DataRoute, Items, Query, constant_key
from quorate.v1.coordinator_pb2 import (
    AssignCoordinator,
    AssignCoordinators,
    Coordinator,
    FindCoordinatorMoves,
    FindCoordinators,
    ListCoordinators,
    MoveCoordinators,
    ReleaseCoordinator,
    ReleaseCoordinators,
)

_JOBS: Final = AssignCoordinator(role="mqtt", key="jobs")
_NEAR: Final = AssignCoordinator(
    role="engine", key="logs/1", cluster_name="north", labels={"zone": "a", "rack": "7"}
)

COMMANDS: Final[tuple[Command[Any], ...]] = (
    Command(
        message=AssignCoordinators,
        group=GROUP,
        items=Items(
            get=lambda command: command.coordinators,
            shard_key=constant_key,
            make=lambda _, items: AssignCoordinators(coordinators=items),
            key=row_key,
        ),
        validate=validation.check_assignments,
        public=True,
        examples=(AssignCoordinators(coordinators=[_JOBS, _NEAR]),),
    ),
    Command(
        message=ReleaseCoordinators,
        group=GROUP,
        items=Items(
            get=lambda command: command.coordinators,
            shard_key=constant_key,
            make=lambda _, items: ReleaseCoordinators(coordinators=items),
            key=row_key,
        ),
        validate=validation.check_releases,
        public=True,
        examples=(ReleaseCoordinators(coordinators=[ReleaseCoordinator(role="mqtt", key="jobs")]),),
    ),
    Command(
        message=MoveCoordinators,
        group=GROUP,
        items=Items(
            get=lambda command: command.assignments,
            shard_key=constant_key,
            make=lambda _, assignments: MoveCoordinators(assignments=assignments),
            key=lambda assignment: assignment,
        ),
        examples=(
            MoveCoordinators(
                assignments=[
                    Assignment.of(Coordinator(role="mqtt", key="jobs", broker_epoch=1)).packed()
                ]
            ),
        ),
    ),
)

ROUTES: Final[tuple[DataRoute[Any], ...]] = (
    DataRoute(message=AssignCoordinators, apply=apply.assign_each),
    DataRoute(message=ReleaseCoordinators, apply=apply.release_each),
    DataRoute(message=MoveCoordinators, apply=apply.move_each),
)

QUERIES: Final[tuple[Query[Any], ...]] = (
    Query(
        message=FindCoordinators,
        group=GROUP,
        run=queries.find_coordinators,
        shard_key=constant_key,
    ),
    Query(
        message=ListCoordinators,
        group=GROUP,
        run=queries.list_coordinators,
        shard_key=constant_key,
    ),
    Query(
        message=FindCoordinatorMoves,
        group=GROUP,
        run=queries.find_moves,
        shard_key=constant_key,
    ),
)
