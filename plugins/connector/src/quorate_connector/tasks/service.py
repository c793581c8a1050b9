"""The methods of tasks and workers that are not derived."""

from typing import Final, TypeVar

from google.protobuf.message import Message
from quorate.plugin import NodeApi, Rejected
from quorate.plugin.resource import read_rows
from quorate.v1.batch_pb2 import BatchReply

from quorate_connector.families import key_of
from quorate_connector.v1 import queries_pb2 as asked, tasks_pb2 as pb
from quorate_connector.validation import check_task

R = TypeVar("R", bound=Message)


class TaskReads:
    """Reads what goes with tasks, and who runs them."""

    def __init__(self, node: NodeApi) -> None:
        self._node: Final = node

    async def Get(self, request: pb.GetTaskRequest, context: object) -> pb.Task:
        """Read one task."""
        # The resource names this class.
        from quorate_connector.resources import TASK

        check_task(request.task)
        [task] = await read_rows(self._node, TASK, [key_of(request.task)])
        return _there(task, "task", request.task)

    async def ListHistory(
        self, request: pb.ListHistoryRequest, context: object
    ) -> pb.ListHistoryResponse:
        """Read what became of one task."""
        check_task(request.task)
        found = self._node.query(asked.ListHistoryQuery(task=request.task), pb.Transition)
        return pb.ListHistoryResponse(transitions=[each async for each in found])

    async def Report(self, request: pb.ReportTasks, context: object) -> BatchReply:
        """Record what a worker says."""
        return await self._node.propose(request, BatchReply)

    async def GetCursor(self, request: pb.GetCursorRequest, context: object) -> pb.Cursor:
        """Read how far one task has come."""
        check_task(request.task)
        query = asked.GetCursorQuery(task=request.task)
        found = [each async for each in self._node.query(query, pb.Cursor)]
        return _there(next(iter(found), None), "cursor of task", request.task)

    async def ListWorkers(
        self, request: pb.ListWorkersRequest, context: object
    ) -> pb.ListWorkersResponse:
        """List all workers."""
        found = self._node.query(asked.ListWorkersQuery(), pb.WorkerLoad)
        return pb.ListWorkersResponse(workers=[each async for each in found])


def _there(found: R | None, what: str, task: pb.TaskId) -> R:
    if found is None:
        raise Rejected(
            "NOT_FOUND",
            f"there is no {what} {task.number} of connector {task.connector} of tenant "
            f"{task.tenant}",
        )
    return found
