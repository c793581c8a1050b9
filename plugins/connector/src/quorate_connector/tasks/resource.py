"""What the tasks declare."""

from typing import Final

from quorate.plugin import Command, DataRoute, Items, Query, Timer

from quorate_connector import tallies
from quorate_connector.resource import Resource
from quorate_connector.shard import GROUP, shard_key
from quorate_connector.tasks import apply, queries
from quorate_connector.tasks.families import FAMILIES, RELEASE, RETRY, key_of
from quorate_connector.tasks.service import SERVICE
from quorate_connector.tasks.validation import check_cursor, check_cursors, check_reports
from quorate_connector.v1.task_queries_pb2 import (
    GetCursorQuery,
    GetTaskQuery,
    ListHistoryQuery,
    ListTasksQuery,
)
from quorate_connector.v1.tasks_pb2 import (
    TASK_STATE_RUNNING,
    ReportTasks,
    RetryTasks,
    StoreCursor,
    StoreCursors,
    TakeTasks,
    TaskId,
    TaskReport,
)
from quorate_connector.workers.brokers import BROKERS

_TASK: Final = TaskId(tenant="acme", connector="orders", number=0)
_CURSOR: Final = StoreCursor(task=_TASK, worker_epoch=1, epoch=2, value=b"7")

RESOURCE: Final = Resource(
    families=(*FAMILIES, tallies.FAMILY),
    commands=(
        Command(
            message=ReportTasks,
            group=GROUP,
            shard_key=shard_key,
            validate=check_reports,
            public=True,
            examples=(
                ReportTasks(
                    worker="worker-1",
                    worker_epoch=1,
                    reports=[TaskReport(task=_TASK, epoch=2, state=TASK_STATE_RUNNING)],
                ),
            ),
        ),
        Command(
            message=StoreCursor,
            group=GROUP,
            shard_key=shard_key,
            validate=check_cursor,
            public=True,
            examples=(_CURSOR,),
        ),
        Command(
            message=StoreCursors,
            group=GROUP,
            items=Items(
                get=lambda command: command.cursors,
                shard_key=shard_key,
                make=lambda _, cursors: StoreCursors(cursors=cursors),
                key=lambda cursor: key_of(cursor.task),
            ),
            validate=check_cursors,
            public=True,
            examples=(StoreCursors(cursors=[_CURSOR]),),
        ),
        Command(
            message=RetryTasks,
            group=GROUP,
            shard_key=shard_key,
            examples=(RetryTasks(keys=[key_of(_TASK)]),),
        ),
        Command(
            message=TakeTasks,
            group=GROUP,
            shard_key=shard_key,
            examples=(TakeTasks(keys=[key_of(_TASK)]),),
        ),
    ),
    routes=(
        DataRoute(message=ReportTasks, apply=apply.report_tasks, reads=(BROKERS,)),
        DataRoute(message=StoreCursor, apply=apply.store_cursor),
        DataRoute(message=StoreCursors, apply=apply.store_cursors),
        DataRoute(message=RetryTasks, apply=apply.retry_tasks),
        DataRoute(message=TakeTasks, apply=apply.take_tasks),
    ),
    queries=(
        Query(message=GetTaskQuery, group=GROUP, run=queries.get_task, shard_key=shard_key),
        Query(message=ListTasksQuery, group=GROUP, run=queries.list_tasks, shard_key=shard_key),
        Query(message=ListHistoryQuery, group=GROUP, run=queries.list_history, shard_key=shard_key),
        Query(message=GetCursorQuery, group=GROUP, run=queries.get_cursor, shard_key=shard_key),
    ),
    controllers=(
        Timer(name=RETRY, group=GROUP, due=lambda due: RetryTasks(keys=due), batch=500),
        Timer(name=RELEASE, group=GROUP, due=lambda due: TakeTasks(keys=due), batch=500),
    ),
    services=(SERVICE,),
)
