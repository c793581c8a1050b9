"""The resources of connectors, tasks and workers, with their verbs, queries and timers."""

from typing import Any, Final

from quorate.builtin.cluster.api import BROKERS
from quorate.plugin import (
    Access,
    Admission,
    Checks,
    Command,
    Controller,
    Item,
    Life,
    Query,
    Resource,
    Serving,
    Storage,
    Timer,
    Verb,
    View,
    keys,
)
from quorate.plugin.access import Right
from quorate.plugin.advanced import Remake, Stored

from quorate_connector import families, queries, validation
from quorate_connector.connectors import apply as connectors
from quorate_connector.connectors.service import Definitions
from quorate_connector.scheduling import apply as scheduling, queries as surveys
from quorate_connector.scheduling.controllers import SCHEDULING
from quorate_connector.tasks import apply as tasks
from quorate_connector.tasks.service import TaskReads
from quorate_connector.v1 import connectors_pb2, queries_pb2, scheduling_pb2, tasks_pb2 as pb
from quorate_connector.workers import apply as workers

_TASK_SERVICE: Final = pb.DESCRIPTOR.services_by_name["TaskService"]
# The examples: a connector of two tasks that is to get three, and its first task.
_CONFIG: Final = b'{"topic":"orders","path":"/var/lib/orders","format":"lines","sync":true}'
_DEFINITION: Final[dict[str, Any]] = {
    "type": "file",
    "config": _CONFIG,
    "failures_max": 10,
    "backoff_ms": 1_000,
}
_SMALL: Final = connectors_pb2.Definition(tasks_max=2, **_DEFINITION)
_LARGE: Final = connectors_pb2.Definition(tasks_max=3, **_DEFINITION)
_ORDERS: Final[dict[str, Any]] = {"tenant": "acme", "name": "orders"}
_BILLS: Final[dict[str, Any]] = {"tenant": "acme", "name": "bills"}
_TASK: Final = pb.TaskId(tenant="acme", connector="orders", number=0)


def _listed(request: connectors_pb2.ListConnectorsRequest) -> Any:
    """Filter connectors by type, if a list request names one."""
    validation.check_listed_connectors(request)
    return (lambda row: row.definition.type == request.type) if request.type else None


def _as_it_was(row: connectors_pb2.Connector, stored: Stored) -> connectors_pb2.PutConnectorRequest:
    return connectors_pb2.PutConnectorRequest(
        tenant=row.tenant, name=row.name, definition=row.definition, target=row.target
    )


def _of_connector(right: Right, items: str = "") -> Access:
    return Access(right=right, domain=families.CONNECTORS, items=items, tenant="tenant", key="name")


def _of_task(right: Right, items: str = "") -> Access:
    return Access(
        right=right, domain=families.TASKS, items=items, tenant="task.tenant", key="task.connector"
    )


CONNECTOR: Final = Resource(
    family=families.CONNECTORS,
    group=families.GROUP,
    row=connectors_pb2.Connector,
    service=connectors_pb2.DESCRIPTOR.services_by_name["ConnectorService"],
    serving=Serving(
        servicer=Definitions,
        access={
            **dict.fromkeys(
                ("Create", "Update", "Put", "RollBack", "Delete"), _of_connector("write")
            ),
            **dict.fromkeys(
                ("CreateBatch", "UpdateBatch", "PutBatch", "DeleteBatch"),
                _of_connector("write", items="connectors"),
            ),
            "ListVersions": _of_connector("read"),
            # Types are not rows.
            "ListTypes": Access(right="identity"),
        },
        missing="CONNECTOR_NOT_FOUND",
        keep=_listed,
    ),
    key=("tenant", "name"),
    storage=Storage(shard_key=families.SHARD_KEY, counted=True),
    tenant="tenant",
    life=Life(deletions=validation.AT_A_TIME),
    view=View(remake=Remake(item=_as_it_was), cli=False),
    verbs={
        "Create": Verb(
            admission=Admission(by_hand=True),
            apply=connectors.create,
            check=validation.check_definition,
            examples=(
                connectors_pb2.CreateConnectorRequest(**_ORDERS, definition=_SMALL),
                connectors_pb2.CreateConnectorRequest(
                    **_BILLS, definition=_LARGE, target=connectors_pb2.TARGET_PAUSED
                ),
            ),
        ),
        "Update": Verb(
            admission=Admission(by_hand=True),
            apply=connectors.update,
            check=validation.check_definition,
            examples=(
                connectors_pb2.UpdateConnectorRequest(
                    **_ORDERS, definition=_LARGE, expected_version=1
                ),
            ),
        ),
        "Put": Verb(
            admission=Admission(by_hand=True),
            apply=connectors.put,
            check=validation.check_definition,
            examples=(connectors_pb2.PutConnectorRequest(**_ORDERS, definition=_LARGE),),
        ),
        "RollBack": Verb(
            admission=Admission(by_hand=True),
            apply=connectors.roll_back,
            check=validation.check_roll_back,
            message=connectors_pb2.RollBackConnectors,
            examples=(connectors_pb2.RollBackConnectorRequest(**_ORDERS, version=1),),
        ),
        "SetTarget": Verb(
            apply=connectors.set_target,
            check=validation.check_target,
            message=connectors_pb2.SetConnectorTargets,
            examples=(
                connectors_pb2.SetConnectorTarget(**_BILLS, target=connectors_pb2.TARGET_RUNNING),
            ),
        ),
        "Restart": Verb(
            apply=connectors.restart,
            check=validation.check_restart,
            message=connectors_pb2.RestartConnectors,
            examples=(connectors_pb2.RestartTasks(**_ORDERS, tasks=[1]),),
        ),
        "Delete": Verb(
            admission=Admission(by_hand=True, public=True),
            apply=connectors.delete,
            check=Checks(command=validation.check_deletions),
            examples=(
                connectors_pb2.DeleteConnector(**_BILLS),
                connectors_pb2.DeleteConnector(**_ORDERS),
            ),
        ),
    },
)


def _of_tasks(message: Any, apply_all: Any, example: Any, *reads: str) -> Verb:
    """Return a verb of the scheduler, which acts on tasks that it has read."""
    return Verb(
        message=message,
        apply_all=apply_all,
        item=Item(key=lambda item: families.key_of(item.task)),
        examples=(example,),
        reads=reads,
    )


TASK: Final = Resource(
    family=families.TASKS,
    group=families.GROUP,
    row=pb.Task,
    service=_TASK_SERVICE,
    serving=Serving(
        methods=(
            *("Get", "List", "ListHistory", "Report"),
            *("StoreCursor", "StoreCursorBatch", "GetCursor"),
        ),
        servicer=TaskReads,
        access={"ListHistory": _of_task("read"), "GetCursor": _of_task("read")},
        keep=validation.check_listed_tasks,
    ),
    key=("id.tenant", "id.connector", "id.number"),
    storage=Storage(shard_key=families.SHARD_KEY),
    view=View(cli=False),
    verbs={
        "StoreCursor": Verb(
            apply=tasks.store_cursor,
            check=validation.check_cursor,
            item=Item(key=lambda item: families.key_of(item.task)),
            examples=(pb.StoreCursor(task=_TASK, worker_epoch=1, epoch=2, value=b"7"),),
        ),
        "Assign": _of_tasks(
            pb.AssignTasks,
            scheduling.assign,
            pb.Assignment(
                task=_TASK, expected_epoch=1, worker="worker-1", worker_epoch=1, timeout_ms=10_000
            ),
            BROKERS,
        ),
        "Release": _of_tasks(
            pb.ReleaseTasks,
            scheduling.release,
            pb.Release(task=_TASK, expected_epoch=2, timeout_ms=10_000, reason="it is drained"),
        ),
        "Reclaim": _of_tasks(
            pb.ReclaimTasks, scheduling.reclaim, pb.Reclaim(task=_TASK, expected_epoch=2), BROKERS
        ),
        "Retry": Verb(
            message=pb.RetryTasks, apply_all=tasks.retry, examples=(families.key_of(_TASK),)
        ),
        "Take": Verb(
            message=pb.TakeTasks, apply_all=tasks.take, examples=(families.key_of(_TASK),)
        ),
    },
)

WORKER: Final = Resource(
    family=families.WORKERS,
    group=families.GROUP,
    row=pb.Worker,
    service=_TASK_SERVICE,
    serving=Serving(
        methods=("DrainWorker", "UndrainWorker", "ListWorkers"),
        servicer=TaskReads,
        access={"ListWorkers": Access(right="read", domain=families.WORKERS)},
    ),
    key=("name",),
    storage=Storage(shard_key=families.SHARD_KEY),
    view=View(cli=False),
    verbs={
        "Drain": Verb(
            message=pb.DrainWorkers,
            apply=workers.drain,
            check=validation.check_drain,
            item=Item(key=lambda item: keys.pack(item.worker)),
            examples=(pb.DrainWorker(worker="worker-1", release_timeout_ms=5_000),),
            reads=(BROKERS,),
        ),
        "Undrain": Verb(
            message=pb.UndrainWorkers,
            apply=workers.undrain,
            check=validation.check_undrain,
            item=Item(key=lambda item: keys.pack(item.worker)),
            examples=(pb.UndrainWorker(worker="worker-1"),),
            reads=(BROKERS,),
        ),
        "Expire": Verb(
            message=pb.ExpireWorkers,
            apply_all=workers.expire,
            examples=(families.life_key("worker-1", 1),),
            reads=(BROKERS,),
        ),
    },
)

RESOURCES: Final = (CONNECTOR, TASK, WORKER)

#: A report without tasks is a heartbeat, so it is not a batch: an empty batch does nothing.
REPORT: Final = Command(
    message=pb.ReportTasks,
    group=families.GROUP,
    apply=tasks.report,
    reads=(BROKERS,),
    shard_key=families.shard_key,
    keys=lambda command: [families.key_of(each.task) for each in command.reports],
    validate=validation.check_reports,
    public=True,
    access=_of_task("write", items="reports"),
    examples=(
        pb.ReportTasks(
            worker="worker-1",
            worker_epoch=1,
            reports=[pb.TaskReport(task=_TASK, epoch=2, state=pb.TASK_STATE_RUNNING)],
        ),
    ),
)


def _query(message: Any, run: Any, *reads: str) -> Query[Any]:
    return Query(
        message=message, group=families.GROUP, run=run, shard_key=families.shard_key, reads=reads
    )


QUERIES: Final = (
    _query(queries_pb2.ListVersionsQuery, queries.list_versions),
    _query(queries_pb2.ListHistoryQuery, queries.list_history),
    _query(queries_pb2.GetCursorQuery, queries.get_cursor),
    _query(queries_pb2.ListWorkersQuery, queries.list_workers, BROKERS),
    _query(scheduling_pb2.SurveyQuery, surveys.survey, BROKERS),
    _query(scheduling_pb2.FindWaitingQuery, surveys.find_waiting),
    _query(scheduling_pb2.FindHeldQuery, surveys.find_held),
)


def _timer(name: str, message: Any, *, liveness: bool = False) -> Timer:
    return Timer(
        name=name,
        group=families.GROUP,
        due=lambda due: message(keys=due),
        batch=500,
        liveness=liveness,
    )


CONTROLLERS: Final[tuple[Controller | Timer, ...]] = (
    SCHEDULING,
    _timer(families.RETRY, pb.RetryTasks),
    _timer(families.RELEASE, pb.TakeTasks),
    _timer(families.LIVENESS, pb.ExpireWorkers, liveness=True),
)
