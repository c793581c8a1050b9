from collections.abc import Sequence
from typing import Any

from google.protobuf.message import Message
from quorate.testing import PluginConformance
from quorate.v1.cluster_pb2 import RegisterBroker
from quorate.v1.tenant_pb2 import CreateTenant
from quorate_connector.v1.connectors_pb2 import (
    CreateConnectorRequest,
    CreateConnectorsRequest,
    DeleteConnector,
    DeleteConnectorsRequest,
    UpdateConnectorRequest,
    UpdateConnectorsRequest,
)
from quorate_connector.v1.tasks_pb2 import (
    TASK_STATE_FAILED,
    TASK_STATE_RUNNING,
    Assignment,
    AssignTasks,
    ReportTasks,
    StoreCursor,
    TaskId,
    TaskReport,
    TaskState,
)

TASKS = [TaskId(tenant="acme", connector="orders", number=number) for number in range(2)]


def report(state: TaskState) -> ReportTasks:
    reports = [TaskReport(task=TASKS[0], epoch=3, state=state, reason="no such host")]
    return ReportTasks(worker="worker-1", worker_epoch=1, reports=reports)


class TestConnector(PluginConformance):
    plugin = "connector"
    beside = ("cluster", "tenant")
    seeds = (1, 2)
    # These name the epoch of a task, which every change of a connector raises.
    only_refused = tuple(
        f"quorate_connector.v1.{name}" for name in ("ReleaseTasks", "ReclaimTasks")
    )

    def log(self) -> Sequence[Message]:
        """A task that runs, makes progress and fails, between the examples; deletions come last."""
        examples = self._examples()
        deletions = [
            each for each in examples if isinstance(each, DeleteConnector | DeleteConnectorsRequest)
        ]
        assignments = [
            Assignment(task=task, expected_epoch=epoch, worker="worker-1", worker_epoch=1)
            for epoch, task in enumerate(TASKS, start=1)
        ]
        return [
            CreateTenant(name="acme"),
            RegisterBroker(name="worker-1", cluster_name="north", roles=["connector"]),
            # Makes two tasks, under the epochs 1 and 2.
            CreateConnectorsRequest(connectors=[self._first()]),
            AssignTasks(assignments=assignments),
            report(TASK_STATE_RUNNING),
            StoreCursor(task=TASKS[0], worker_epoch=1, epoch=3, value=b"7"),
            report(TASK_STATE_FAILED),
            *(each for each in examples if each not in deletions),
            UpdateConnectorsRequest(
                connectors=[UpdateConnectorRequest(name="orders", **self._later())]
            ),
            *deletions,
            CreateConnectorsRequest(
                connectors=[CreateConnectorRequest(name="late", **self._later())]
            ),
        ]

    def _first(self) -> CreateConnectorRequest:
        creations = (each for each in self._examples() if isinstance(each, CreateConnectorsRequest))
        return next(creations).connectors[0]

    def _later(self) -> dict[str, Any]:
        return {"tenant": "acme", "definition": self._first().definition}
