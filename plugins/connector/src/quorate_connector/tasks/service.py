"""The gRPC service: each call becomes a command or a read.

`Invalid` and `Rejected` pass through: the host answers them with the status of their code.
"""

from typing import Final, TypeVar

from google.protobuf.message import Message
from quorate.plugin import GrpcService, Invalid, NodeApi, Rejected, keys, propose_fitting
from quorate.v1.batch_pb2 import BatchReply

from quorate_connector.names import check_identity, check_name
from quorate_connector.tasks.queries import LARGEST_PAGE
from quorate_connector.tasks.validation import check_cursor, check_task
from quorate_connector.v1 import tasks_pb2
from quorate_connector.v1.task_queries_pb2 import (
    GetCursorQuery,
    GetTaskQuery,
    ListHistoryQuery,
    ListTasksQuery,
    ListWorkersQuery,
    TaskPage,
)
from quorate_connector.v1.tasks_pb2 import (
    Cursor,
    DrainWorker,
    GetCursorRequest,
    GetTaskRequest,
    ListHistoryRequest,
    ListHistoryResponse,
    ListTasksRequest,
    ListTasksResponse,
    ListWorkersRequest,
    ListWorkersResponse,
    ReportTasks,
    StoreCursor,
    StoreCursors,
    Task,
    TaskId,
    Transition,
    UndrainWorker,
    Worker,
    WorkerLoad,
)

R = TypeVar("R", bound=Message)

PAGE: Final = 100
#: So often is a page that is not full asked for again.
_LOOKS: Final = 10
#: No key is longer.
_LONGEST_KEY: Final = 4_096


class TaskServicer:
    """Serves tasks and workers on every node, whether it holds a replica of the shard or not."""

    def __init__(self, node: NodeApi) -> None:
        self._node: Final = node

    async def Get(self, request: GetTaskRequest, context: object) -> Task:
        """Read one task."""
        return await self._one(request.task, GetTaskQuery(task=request.task), Task, "no task")

    async def List(self, request: ListTasksRequest, context: object) -> ListTasksResponse:
        """List a page of tasks."""
        start, end = _bounds(request)
        response = ListTasksResponse()
        wanted = request.page_size or PAGE
        for _ in range(_LOOKS):
            query = ListTasksQuery(
                start=start,
                end=end,
                worker=request.worker,
                state=request.state,
                limit=wanted - len(response.tasks),
            )
            [page] = [page async for page in self._node.query(query, TaskPage)]
            response.tasks.extend(page.tasks)
            response.next_page_token = start = page.next_start
            if not start or len(response.tasks) == wanted:
                break
        return response

    async def ListHistory(
        self, request: ListHistoryRequest, context: object
    ) -> ListHistoryResponse:
        """Read what became of one task."""
        check_task(request.task)
        found = self._node.query(ListHistoryQuery(task=request.task), Transition)
        return ListHistoryResponse(transitions=[each async for each in found])

    async def Report(self, request: ReportTasks, context: object) -> BatchReply:
        """Take note of what a worker says."""
        return await self._node.propose(request, BatchReply)

    async def StoreCursor(self, request: StoreCursor, context: object) -> Cursor:
        """Keep how far one task has come."""
        return await self._node.propose(request, Cursor)

    async def StoreCursorBatch(self, request: StoreCursors, context: object) -> BatchReply:
        """Keep how far many tasks have come, in one proposal."""
        return await propose_fitting(self._node, request, "cursors", check_cursor)

    async def GetCursor(self, request: GetCursorRequest, context: object) -> Cursor:
        """Read how far one task has come."""
        query = GetCursorQuery(task=request.task)
        return await self._one(request.task, query, Cursor, "no cursor of task")

    async def DrainWorker(self, request: DrainWorker, context: object) -> Worker:
        """Have the tasks of a worker go to others."""
        return await self._node.propose(request, Worker)

    async def UndrainWorker(self, request: UndrainWorker, context: object) -> Worker:
        """Let a worker have tasks again."""
        return await self._node.propose(request, Worker)

    async def ListWorkers(
        self, request: ListWorkersRequest, context: object
    ) -> ListWorkersResponse:
        """List all workers."""
        found = self._node.query(ListWorkersQuery(), WorkerLoad)
        return ListWorkersResponse(workers=[each async for each in found])

    async def _one(self, task: TaskId, query: Message, kind: type[R], missing: str) -> R:
        check_task(task)
        async for found in self._node.query(query, kind):
            return found
        raise Rejected(
            "NOT_FOUND",
            f"there is {missing} {task.number} of connector {task.connector} of tenant "
            f"{task.tenant}",
        )


def _bounds(request: ListTasksRequest) -> tuple[bytes, bytes]:
    """Return where the tasks lie that are asked for; refuse what asks for none that could be."""
    if request.tenant:
        check_name("tenant", request.tenant)
    elif request.connector:
        raise Invalid("connector", "must be empty when no tenant is given")
    if request.connector:
        check_name("connector", request.connector)
    if request.worker:
        check_identity("worker", request.worker)
    if request.page_size > LARGEST_PAGE:
        raise Invalid("page_size", f"must be at most {LARGEST_PAGE}, not {request.page_size}")
    if len(request.page_token) > _LONGEST_KEY:
        raise Invalid("page_token", "is none that a page was answered with")
    start, end = keys.prefix(*filter(None, (request.tenant, request.connector)))
    return max(start, request.page_token), end


SERVICE: Final = GrpcService(
    service=tasks_pb2.DESCRIPTOR.services_by_name["TaskService"],
    servicer=TaskServicer,
)
