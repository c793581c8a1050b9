import pytest
from google.protobuf.empty_pb2 import Empty
from quorate_connector.families import ASSIGNMENTS, CURSORS, HISTORY, TALLIES, TASKS, WAITING
from quorate_connector.v1.connectors_pb2 import (
    TARGET_RUNNING,
    TARGET_STOPPED,
    Connector,
    DeleteConnector,
    RestartTasks,
    UpdateConnectorRequest,
)
from quorate_connector.v1.tasks_pb2 import (
    TASK_STATE_ASSIGNED,
    TASK_STATE_FAILED,
    TASK_STATE_RESTARTING,
    TASK_STATE_STOPPED,
    TASK_STATE_UNASSIGNED,
    RetryTasks,
    TakeTasks,
)

from tests.support.connector.fleet import ConnectorCluster
from tests.support.connector.indexes import differences


async def update(cluster: ConnectorCluster, tasks: int, *, discard: bool = False) -> Connector:
    command = UpdateConnectorRequest(
        tenant="acme",
        name="c",
        definition=cluster.definition(tasks, failures=5, backoff_ms=700),
        discard_progress=discard,
    )
    return await cluster.node.propose(command, Connector)


async def test_nothing_is_left_of_tasks_in_any_state(cluster: ConnectorCluster) -> None:
    await cluster.found("ab")
    await cluster.create(tasks=6, failures=2)
    await cluster.schedule()
    await cluster.store(cluster.task(0), b"1")
    await cluster.report(cluster.task(1), TASK_STATE_FAILED)
    await cluster.drain("b")
    await cluster.schedule()
    assert any(task.release_by_ms for task in cluster.tasks())
    assert any(task.state == TASK_STATE_RESTARTING for task in cluster.tasks())
    await cluster.unregister("a")
    await cluster.schedule()
    assert any(task.state == TASK_STATE_UNASSIGNED for task in cluster.tasks())

    await cluster.node.propose(DeleteConnector(tenant="acme", name="c"), Empty)

    for family in (TASKS, CURSORS, HISTORY, ASSIGNMENTS, WAITING, TALLIES):
        assert not cluster.node.rows(family), family
    await cluster.node.advance(20_000)
    assert not [each for each in cluster.node.proposals if isinstance(each, RetryTasks | TakeTasks)]


async def test_an_update_renews_all_tasks_and_makes_and_removes_some(
    cluster: ConnectorCluster,
) -> None:
    await cluster.found("a")
    await cluster.create(tasks=2)
    await cluster.schedule()
    before = cluster.tasks()

    await update(cluster, 3)

    after = cluster.tasks()
    assert [task.state for task in after] == [TASK_STATE_UNASSIGNED] * 3
    assert {(task.version, task.failures_max, task.backoff_ms) for task in after} == {(2, 5, 700)}
    assert [task.preferred_worker for task in after] == ["a", "a", ""]
    assert min(task.epoch for task in after) > max(task.epoch for task in before)
    await update(cluster, 1)
    assert len(cluster.tasks()) == 1
    assert not differences(cluster.node)


async def test_tasks_of_a_stopped_connector_are_made_and_renewed_stopped(
    cluster: ConnectorCluster,
) -> None:
    await cluster.found("a")
    await cluster.create(tasks=1)
    await cluster.aim(TARGET_STOPPED)

    await update(cluster, 2)
    await cluster.schedule()

    assert [task.state for task in cluster.tasks()] == [TASK_STATE_STOPPED] * 2
    assert not differences(cluster.node)


@pytest.mark.parametrize("waits", [True, False])
async def test_a_stop_ends_every_wait(cluster: ConnectorCluster, waits: bool) -> None:
    await cluster.found("a" if not waits else "")
    await cluster.create()
    await cluster.schedule()
    if not waits:
        await cluster.report(cluster.task(), TASK_STATE_FAILED)

    await cluster.aim(TARGET_STOPPED)

    assert (cluster.task().state, cluster.task().retry_at_ms) == (TASK_STATE_STOPPED, 0)
    await cluster.node.advance(5_000)
    assert cluster.task().state == TASK_STATE_STOPPED


async def test_a_failed_task_stays_so_through_stop_and_resume(cluster: ConnectorCluster) -> None:
    await cluster.found("a")
    await cluster.create(failures=1)
    await cluster.schedule()
    await cluster.report(cluster.task(), TASK_STATE_FAILED, "broken")

    await cluster.aim(TARGET_STOPPED)
    await cluster.aim(TARGET_RUNNING)
    await cluster.schedule()

    assert (cluster.task().state, cluster.task().reason) == (TASK_STATE_FAILED, "broken")


async def test_only_the_named_tasks_begin_anew(cluster: ConnectorCluster) -> None:
    await cluster.found("a")
    await cluster.create(tasks=3)
    await cluster.schedule()
    before = cluster.tasks()

    await cluster.node.propose(RestartTasks(tenant="acme", name="c", tasks=[1]), Connector)

    assert [task.state for task in cluster.tasks()] == [
        TASK_STATE_ASSIGNED,
        TASK_STATE_UNASSIGNED,
        TASK_STATE_ASSIGNED,
    ]
    assert cluster.tasks()[::2] == before[::2]
    assert cluster.task(1).reason == "restarted"
