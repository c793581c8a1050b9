"""The rows of connectors and their tasks."""

from __future__ import annotations

from typing import Final

from quorate_connector.v1.connectors_pb2 import (
    CreateConnectorRequest,
    CreateConnectorsRequest,
    Definition,
    DeleteConnector,
    DeleteConnectorsRequest,
    GetConnectorRequest,
    Label,
    ListConnectorsRequest,
    ListVersionsRequest,
    PutConnectorRequest,
    PutConnectorsRequest,
    RestartTasks,
    RollBackConnectorRequest,
    SetConnectorTarget,
    UpdateConnectorRequest,
    UpdateConnectorsRequest,
)
from quorate_connector.v1.tasks_pb2 import (
    TASK_STATE_ASSIGNED,
    TASK_STATE_RUNNING,
    DrainWorker,
    GetCursorRequest,
    GetTaskRequest,
    ListHistoryRequest,
    ListTasksRequest,
    ReportTasks,
    StoreCursor,
    StoreCursors,
    TaskId,
    TaskReport,
    UndrainWorker,
)

from tests.integration.rows.row import MANY, STRANGE, TEXT, InPlace, Row, by_method

CONFIG: Final = b'{"topic":"t","path":"/p"}'
GOOD: Final = Definition(type="file", config=CONFIG)
TASK: Final = TaskId(tenant="t", connector="c")
LONG: Final = 3_600_001


def creation(**definition: object) -> CreateConnectorRequest:
    given = Definition(**{"type": "file", "config": CONFIG, **definition})  # type: ignore[arg-type]  # by name
    return CreateConnectorRequest(tenant="t", name="n", definition=given)


def put(**definition: object) -> PutConnectorRequest:
    made = creation(**definition)
    return PutConnectorRequest(tenant="t", name="n", definition=made.definition)


def update(**definition: object) -> UpdateConnectorRequest:
    given = Definition(**{"type": "file", "config": CONFIG, **definition})  # type: ignore[arg-type]  # by name
    return UpdateConnectorRequest(tenant="t", name="n", definition=given)


def report(**fields: object) -> ReportTasks:
    given = TaskReport(**{"task": TASK, "epoch": 1, "state": TASK_STATE_RUNNING, **fields})  # type: ignore[arg-type]  # by name
    return ReportTasks(worker="w", worker_epoch=1, reports=[given])


def cursor(**fields: object) -> StoreCursor:
    return StoreCursor(**{"task": TASK, "worker_epoch": 1, "epoch": 1, **fields})  # type: ignore[arg-type]  # by name


CONNECTORS: Final = {
    "Create": Row(
        empty="tenant",
        large=(
            (CreateConnectorRequest(tenant=TEXT, name="n", definition=GOOD), "tenant"),
            (CreateConnectorRequest(tenant="t", name=TEXT, definition=GOOD), "name"),
            (creation(type=TEXT), "definition.type"),
            (creation(config=b" " * 65_537), "definition.config"),
            (creation(tasks_max=1_001), "definition.tasks_max"),
            (creation(failures_max=1_001), "definition.failures_max"),
            (creation(backoff_ms=300_001), "definition.backoff_ms"),
            (
                creation(labels=[Label(name=f"l{each}") for each in range(17)]),
                "definition.labels",
            ),
            (creation(labels=[Label(name=TEXT)]), "definition.labels[0].name"),
            (creation(labels=[Label(name="l", value=TEXT)]), "definition.labels[0].value"),
        ),
        wrong=(
            (CreateConnectorRequest(tenant="t", name=STRANGE, definition=GOOD), "name"),
            (CreateConnectorRequest(tenant="t", name="n"), "definition.type"),
            (CreateConnectorRequest(tenant="t", name="n", definition=GOOD, target=77), "target"),  # type: ignore[arg-type]  # unknown
            (creation(type="nobody"), "definition.type"),
            (creation(config=b""), "definition.config"),
            (creation(config=b"[]"), "definition.config"),
            (creation(config=b"{}"), "definition.config"),
            (creation(config=b'{"topic":"t"}'), "definition.config.path"),
            (creation(config=CONFIG[:-1] + b',"pfad":"/p"}'), "definition.config.pfad"),
            (creation(labels=[Label()]), "definition.labels[0].name"),
            (creation(labels=[Label(name="l"), Label(name="l")]), "definition.labels[1].name"),
        ),
    ),
    "CreateBatch": Row(
        empty=None,
        large=((CreateConnectorsRequest(connectors=[creation()] * MANY), "connectors"),),
        wrong=(
            (
                CreateConnectorsRequest(connectors=[creation(type="nobody")]),
                InPlace("connectors[0].definition.type"),
            ),
        ),
    ),
    "Put": Row(
        empty="tenant",
        large=((put(tasks_max=1_001), "definition.tasks_max"),),
        wrong=(
            (PutConnectorRequest(tenant="t", name="n"), "definition.type"),
            (put(config=b'{"path":"/p"}'), "definition.config.topic"),
        ),
    ),
    "PutBatch": Row(
        empty=None,
        large=((PutConnectorsRequest(connectors=[put()] * MANY), "connectors"),),
        wrong=(
            (
                PutConnectorsRequest(connectors=[put(type="nobody")]),
                InPlace("connectors[0].definition.type"),
            ),
        ),
    ),
    "Update": Row(
        empty="tenant",
        large=((update(tasks_max=1_001), "definition.tasks_max"),),
        wrong=(
            (UpdateConnectorRequest(tenant="t", name="n"), "definition.type"),
            (update(config=b'{"path":"/p"}'), "definition.config.topic"),
        ),
    ),
    "UpdateBatch": Row(
        empty=None,
        large=((UpdateConnectorsRequest(connectors=[update()] * MANY), "connectors"),),
        wrong=(
            (
                UpdateConnectorsRequest(connectors=[update(backoff_ms=300_001)]),
                InPlace("connectors[0].definition.backoff_ms"),
            ),
        ),
    ),
    "RollBack": Row(
        empty="tenant",
        large=((RollBackConnectorRequest(tenant="t", name=TEXT, version=1), "name"),),
        wrong=((RollBackConnectorRequest(tenant="t", name="n"), "version"),),
    ),
    "Delete": Row(
        empty="tenant",
        large=((DeleteConnector(tenant="t", name=TEXT), "name"),),
        wrong=((DeleteConnector(tenant="t", name=STRANGE), "name"),),
    ),
    "DeleteBatch": Row(
        empty=None,
        large=(
            (
                DeleteConnectorsRequest(connectors=[DeleteConnector(tenant="t", name="n")] * MANY),
                "connectors",
            ),
        ),
        wrong=(
            (
                DeleteConnectorsRequest(connectors=[DeleteConnector(tenant="t")]),
                InPlace("connectors[0].name"),
            ),
        ),
    ),
    "Get": Row(
        empty="tenant",
        large=((GetConnectorRequest(tenant=TEXT, name="n"), "tenant"),),
        wrong=((GetConnectorRequest(tenant="t", name=STRANGE), "name"),),
    ),
    "List": Row(
        empty=None,
        large=(
            (ListConnectorsRequest(tenant=TEXT), "tenant"),
            (ListConnectorsRequest(tenant="t", name_prefix=TEXT), "name_prefix"),
            (ListConnectorsRequest(type=TEXT), "type"),
            (ListConnectorsRequest(page_size=1_001), "page_size"),
            (ListConnectorsRequest(page_token=TEXT.encode()), "page_token"),
        ),
        wrong=((ListConnectorsRequest(name_prefix="n"), "name_prefix"),),
    ),
    "ListVersions": Row(
        empty="tenant",
        large=((ListVersionsRequest(tenant=TEXT, name="n"), "tenant"),),
        wrong=((ListVersionsRequest(tenant="t", name=STRANGE), "name"),),
    ),
    "SetTarget": Row(
        empty="tenant",
        large=((SetConnectorTarget(tenant="t", name=TEXT), "name"),),
        wrong=(
            (SetConnectorTarget(tenant="t", name="n"), "target"),
            (SetConnectorTarget(tenant="t", name="n", target=77), "target"),  # type: ignore[arg-type]  # unknown
        ),
    ),
    "Restart": Row(
        empty="tenant",
        large=((RestartTasks(tenant="t", name="n", tasks=range(1_001)), "tasks"),),
        wrong=((RestartTasks(tenant=STRANGE, name="n"), "tenant"),),
    ),
    "ListTypes": Row(empty=None),
}

TASKS: Final = {
    "Get": Row(
        empty="task.tenant",
        large=((GetTaskRequest(task=TaskId(tenant="t", connector=TEXT)), "task.connector"),),
        wrong=((GetTaskRequest(task=TaskId(tenant=STRANGE)), "task.tenant"),),
    ),
    "List": Row(
        empty=None,
        large=(
            (ListTasksRequest(tenant=TEXT), "tenant"),
            (ListTasksRequest(tenant="t", connector=TEXT), "connector"),
            (ListTasksRequest(worker=TEXT), "worker"),
            (ListTasksRequest(page_size=1_001), "page_size"),
            (ListTasksRequest(page_token=TEXT.encode()), "page_token"),
        ),
        wrong=((ListTasksRequest(connector="c"), "connector"),),
    ),
    "ListHistory": Row(
        empty="task.tenant",
        large=((ListHistoryRequest(task=TaskId(tenant=TEXT)), "task.tenant"),),
        wrong=((ListHistoryRequest(task=TaskId(tenant="t")), "task.connector"),),
    ),
    "Report": Row(
        empty="worker",
        large=(
            (ReportTasks(worker=TEXT, worker_epoch=1), "worker"),
            (ReportTasks(worker="w", worker_epoch=1, timeout_ms=LONG), "timeout_ms"),
            (
                ReportTasks(worker="w", worker_epoch=1, reports=list(report().reports) * MANY),
                "reports",
            ),
        ),
        wrong=(
            (ReportTasks(worker="w"), "worker_epoch"),
            (report(epoch=0), "reports[0].epoch"),
            (report(task=TaskId(tenant="t")), "reports[0].task.connector"),
            (report(state=TASK_STATE_ASSIGNED), "reports[0].state"),
            (report(state=77), "reports[0].state"),
        ),
    ),
    "StoreCursor": Row(
        empty="task.tenant",
        large=((cursor(value=b"v" * 65_537), "value"),),
        wrong=(
            (cursor(worker_epoch=0), "worker_epoch"),
            (cursor(epoch=0), "epoch"),
        ),
    ),
    "StoreCursorBatch": Row(
        empty=None,
        large=((StoreCursors(cursors=[cursor()] * MANY), "cursors"),),
        wrong=((StoreCursors(cursors=[cursor(epoch=0)]), InPlace("cursors[0].epoch")),),
    ),
    "GetCursor": Row(
        empty="task.tenant",
        large=((GetCursorRequest(task=TaskId(tenant=TEXT)), "task.tenant"),),
        wrong=((GetCursorRequest(task=TaskId(tenant="t")), "task.connector"),),
    ),
    "DrainWorker": Row(
        empty="worker",
        large=(
            (DrainWorker(worker=TEXT), "worker"),
            (DrainWorker(worker="w", release_timeout_ms=LONG), "release_timeout_ms"),
        ),
        wrong=((DrainWorker(worker=STRANGE), "worker"),),
    ),
    "UndrainWorker": Row(
        empty="worker",
        large=((UndrainWorker(worker=TEXT), "worker"),),
        wrong=((UndrainWorker(worker=STRANGE), "worker"),),
    ),
    "ListWorkers": Row(empty=None),
}

ROWS: Final = by_method(
    {
        "quorate_connector.v1.ConnectorService": CONNECTORS,
        "quorate_connector.v1.TaskService": TASKS,
    }
)
