"""What the scheduler declares."""

from typing import Final

from quorate.plugin import Command, DataRoute, Items, Query

from quorate_connector.resource import Resource
from quorate_connector.scheduling import apply, queries
from quorate_connector.scheduling.controllers import SCHEDULING
from quorate_connector.shard import GROUP, shard_key
from quorate_connector.tasks.families import key_of
from quorate_connector.v1.scheduling_pb2 import FindHeldQuery, FindWaitingQuery, SurveyQuery
from quorate_connector.v1.tasks_pb2 import (
    Assignment,
    AssignTasks,
    Reclaim,
    ReclaimTasks,
    Release,
    ReleaseTasks,
    TaskId,
)
from quorate_connector.workers.brokers import BROKERS

_TASK: Final = TaskId(tenant="acme", connector="orders", number=0)
_ASSIGNMENT: Final = Assignment(
    task=_TASK, expected_epoch=1, worker="worker-1", worker_epoch=1, timeout_ms=10_000
)
_RELEASE: Final = Release(
    task=_TASK, expected_epoch=2, timeout_ms=10_000, reason="worker worker-1 is drained"
)

RESOURCE: Final = Resource(
    commands=(
        Command(
            message=AssignTasks,
            group=GROUP,
            items=Items(
                get=lambda command: command.assignments,
                shard_key=shard_key,
                make=lambda _, assignments: AssignTasks(assignments=assignments),
                key=lambda assignment: key_of(assignment.task),
            ),
            examples=(AssignTasks(assignments=[_ASSIGNMENT]),),
        ),
        Command(
            message=ReleaseTasks,
            group=GROUP,
            items=Items(
                get=lambda command: command.releases,
                shard_key=shard_key,
                make=lambda _, releases: ReleaseTasks(releases=releases),
                key=lambda release: key_of(release.task),
            ),
            examples=(ReleaseTasks(releases=[_RELEASE]),),
        ),
        Command(
            message=ReclaimTasks,
            group=GROUP,
            items=Items(
                get=lambda command: command.reclaims,
                shard_key=shard_key,
                make=lambda _, reclaims: ReclaimTasks(reclaims=reclaims),
                key=lambda reclaim: key_of(reclaim.task),
            ),
            examples=(ReclaimTasks(reclaims=[Reclaim(task=_TASK, expected_epoch=2)]),),
        ),
    ),
    routes=(
        DataRoute(message=AssignTasks, apply=apply.assign_tasks, reads=(BROKERS,)),
        DataRoute(message=ReleaseTasks, apply=apply.release_tasks),
        DataRoute(message=ReclaimTasks, apply=apply.reclaim_tasks, reads=(BROKERS,)),
    ),
    queries=(
        Query(
            message=SurveyQuery,
            group=GROUP,
            run=queries.survey,
            shard_key=shard_key,
            reads=(BROKERS,),
        ),
        Query(
            message=FindWaitingQuery,
            group=GROUP,
            run=queries.find_waiting,
            shard_key=shard_key,
        ),
        Query(message=FindHeldQuery, group=GROUP, run=queries.find_held, shard_key=shard_key),
    ),
    controllers=(SCHEDULING,),
)
