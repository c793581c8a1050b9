from itertools import pairwise
from typing import Any

import pytest
from quorate.plugin import Invalid, Rejected
from quorate_connector.families import HISTORY
from quorate_connector.v1.connectors_pb2 import TARGET_PAUSED, TARGET_RUNNING
from quorate_connector.v1.tasks_pb2 import (
    TASK_STATE_ASSIGNED,
    TASK_STATE_FAILED,
    TASK_STATE_PAUSED,
    TASK_STATE_RUNNING,
    TASK_STATE_UNASSIGNED,
    TASK_STATE_UNSPECIFIED,
    GetTaskRequest,
    ListHistoryRequest,
    ListTasksRequest,
    TaskId,
    Transition,
)

from tests.support.connector.fleet import ConnectorCluster


def served(cluster: ConnectorCluster) -> Any:
    return cluster.node.servicer("quorate_connector.v1.TaskService")


async def history(cluster: ConnectorCluster) -> list[Transition]:
    request = ListHistoryRequest(task=TaskId(tenant="acme", connector="c"))
    return list((await served(cluster).ListHistory(request, None)).transitions)


async def test_history_tells_the_newest_first(cluster: ConnectorCluster) -> None:
    await cluster.found("a")
    await cluster.create()
    await cluster.schedule()
    task = await cluster.report(cluster.task())
    await cluster.node.advance(500)
    await cluster.report(task, TASK_STATE_FAILED, "no such host")

    told = await history(cluster)

    assert [getattr(each, "from") for each in told[::-1]] == [
        TASK_STATE_UNSPECIFIED,
        TASK_STATE_UNASSIGNED,
        TASK_STATE_ASSIGNED,
        TASK_STATE_RUNNING,
    ]
    assert all(getattr(later, "from") == earlier.to for later, earlier in pairwise(told))
    assert [each.number for each in told] == [4, 3, 2, 1]
    assert (told[0].reason, told[0].at_ms) == ("no such host", 1_500)
    assert (told[1].worker, told[1].epoch) == ("a", task.epoch)


async def test_history_keeps_a_hundred(cluster: ConnectorCluster) -> None:
    await cluster.found("a")
    await cluster.create()
    await cluster.schedule()
    for target, state in ((TARGET_PAUSED, TASK_STATE_PAUSED), (TARGET_RUNNING, TASK_STATE_RUNNING)):
        await cluster.aim(target)
        await cluster.report(cluster.task(), state)
    for _ in range(60):
        await cluster.report(cluster.task(), TASK_STATE_PAUSED)
        await cluster.report(cluster.task(), TASK_STATE_RUNNING)

    told = await history(cluster)

    assert [each.number for each in told] == list(range(124, 24, -1))
    assert len(cluster.node.rows(HISTORY)) == 100


async def test_a_task_is_read_by_its_name(cluster: ConnectorCluster) -> None:
    await cluster.found("a")
    await cluster.create(tasks=2)

    request = GetTaskRequest(task=TaskId(tenant="acme", connector="c", number=1))
    assert await served(cluster).Get(request, None) == cluster.task(1)
    request.task.number = 2
    with pytest.raises(Rejected, match="no task 2 of c of acme"):
        await served(cluster).Get(request, None)


async def test_tasks_are_listed_page_by_page(cluster: ConnectorCluster) -> None:
    await cluster.found("ab")
    for name in ("c", "d", "dd"):
        await cluster.create(name, tasks=5)
    await cluster.schedule()
    await cluster.report(cluster.task(3, "d"))

    async def listed(request: ListTasksRequest) -> list[tuple[str, int]]:
        found = []
        request.page_size = 2
        while True:
            page = await served(cluster).List(request, None)
            assert len(page.tasks) <= 2
            found += [(each.id.connector, each.id.number) for each in page.tasks]
            if not page.next_page_token:
                return found
            request.page_token = page.next_page_token

    everything = [(task.id.connector, task.id.number) for task in cluster.tasks()]
    assert await listed(ListTasksRequest()) == everything
    assert await listed(ListTasksRequest(tenant="acme")) == everything
    assert await listed(ListTasksRequest(tenant="acme", connector="d")) == [
        ("d", number) for number in range(5)
    ]
    assert await listed(ListTasksRequest(tenant="globex")) == []
    assert await listed(ListTasksRequest(state=TASK_STATE_RUNNING)) == [("d", 3)]
    both = await listed(ListTasksRequest(worker="a")) + await listed(ListTasksRequest(worker="b"))
    assert sorted(both) == everything
    assert await listed(ListTasksRequest(worker="b", state=TASK_STATE_FAILED)) == []


async def test_tasks_far_apart_come_on_one_page(cluster: ConnectorCluster) -> None:
    await cluster.found("a")
    await cluster.create(tasks=1_000)
    await cluster.create("d", tasks=1_000, labels={"disk": "fast"})
    await cluster.create("e", tasks=3)
    await cluster.schedule()

    page = await served(cluster).List(ListTasksRequest(state=TASK_STATE_UNASSIGNED), None)

    assert len(page.tasks) == 100
    assert {each.id.connector for each in page.tasks} == {"d"}


@pytest.mark.parametrize(
    ("field", "request_"),
    [
        ("connector", ListTasksRequest(connector="c")),
        ("tenant", ListTasksRequest(tenant="a/b")),
        ("page_size", ListTasksRequest(page_size=1_001)),
        ("page_token", ListTasksRequest(page_token=b"x" * 4_097)),
    ],
)
async def test_a_list_of_nothing_that_could_be_is_refused(
    cluster: ConnectorCluster, field: str, request_: ListTasksRequest
) -> None:
    with pytest.raises(Invalid) as refused:
        await served(cluster).List(request_, None)

    assert refused.value.field == field
