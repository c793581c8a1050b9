"""The RPC methods of tasks and workers that are not derived."""

from typing import Final

from quorate.plugin import NodeApi, Rejected
from quorate.v1.batch_pb2 import BatchReply

from quorate_connector.v1 import queries_pb2 as asked, tasks_pb2 as pb
from quorate_connector.validation import check_task


class TaskReads:
    """Reads the history and cursors of tasks, takes reports, and lists workers."""

    def __init__(self, node: NodeApi) -> None:
        self._node: Final = node

    async def ListHistory(
        self, request: pb.ListHistoryRequest, context: object
    ) -> pb.ListHistoryResponse:
        """Return the transitions of one task."""
        check_task(request.task)
        found = self._node.query(asked.ListHistoryQuery(task=request.task), pb.Transition)
        return pb.ListHistoryResponse(transitions=[each async for each in found])

    async def Report(self, request: pb.ReportTasks, context: object) -> BatchReply:
        """Propose the report of a worker."""
        return await self._node.propose(request, BatchReply)

    async def GetCursor(self, request: pb.GetCursorRequest, context: object) -> pb.Cursor:
        """Return the cursor of one task."""
        check_task(request.task)
        query = asked.GetCursorQuery(task=request.task)
        async for cursor in self._node.query(query, pb.Cursor):
            return cursor
        task = request.task
        raise Rejected(
            "NOT_FOUND",
            f"there is no cursor of task {task.number} of connector {task.connector} of tenant "
            f"{task.tenant}",
        )

    async def ListWorkers(
        self, request: pb.ListWorkersRequest, context: object
    ) -> pb.ListWorkersResponse:
        """List all workers."""
        found = self._node.query(asked.ListWorkersQuery(), pb.WorkerLoad)
        return pb.ListWorkersResponse(workers=[each async for each in found])
