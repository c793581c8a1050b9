import pytest
from quorate.plugin import Invalid, Rejected, keys
from quorate.v1.batch_pb2 import BatchReply
from quorate_connector.families import ASSIGNMENTS
from quorate_connector.v1.connectors_pb2 import TARGET_PAUSED, TARGET_RUNNING, TARGET_STOPPED
from quorate_connector.v1.tasks_pb2 import (
    TASK_STATE_ASSIGNED,
    TASK_STATE_FAILED,
    TASK_STATE_PAUSED,
    TASK_STATE_RESTARTING,
    TASK_STATE_RUNNING,
    TASK_STATE_STOPPED,
    TASK_STATE_UNASSIGNED,
    ReportTasks,
    Task,
    TaskId,
    TaskReport,
)

from tests.support.connector.fleet import ConnectorCluster
from tests.support.connector.indexes import differences


async def given(cluster: ConnectorCluster, *workers: str) -> Task:
    """Return a task that a worker has just been given."""
    await cluster.found(workers or ("a",))
    await cluster.create()
    await cluster.schedule()
    task = cluster.task()
    assert task.state == TASK_STATE_ASSIGNED
    return task


async def test_a_worker_says_that_its_task_runs(cluster: ConnectorCluster) -> None:
    task = await given(cluster)

    reported = await cluster.report(task)

    assert reported.state == TASK_STATE_RUNNING
    assert (reported.worker, reported.epoch) == ("a", task.epoch)
    assert cluster.task() == reported


async def test_the_same_again_changes_no_row(cluster: ConnectorCluster) -> None:
    task = await given(cluster)
    await cluster.report(task)
    seen = len(cluster.node.events)

    await cluster.report(task)
    await cluster.beat("a")

    assert len(cluster.node.events) == seen


async def test_an_old_epoch_is_fenced(cluster: ConnectorCluster) -> None:
    task = await given(cluster, "a", "b")
    await cluster.unregister("a")
    await cluster.schedule()
    assert cluster.task().worker == "b"
    old = Task.FromString(task.SerializeToString())
    old.worker, old.worker_epoch = "b", cluster.epoch("b")

    with pytest.raises(Rejected) as refused:
        await cluster.report(old)

    assert refused.value.code == "FENCED"
    assert f" has epoch {cluster.task().epoch}, not {task.epoch}: it was" in str(refused.value)
    assert cluster.task().state == TASK_STATE_ASSIGNED


async def test_another_worker_is_fenced_under_the_right_epoch(cluster: ConnectorCluster) -> None:
    task = await given(cluster, "a", "b")
    other = Task(id=task.id, worker="b", worker_epoch=cluster.epoch("b"), epoch=task.epoch)

    a, b = task.worker_epoch, other.worker_epoch
    with pytest.raises(Rejected, match=f"FENCED.* belongs to the worker with epoch {a}, not {b}: "):
        await cluster.report(other, TASK_STATE_FAILED)

    assert cluster.task() == task


async def test_a_process_that_was_replaced_is_fenced_as_a_whole(cluster: ConnectorCluster) -> None:
    task = await given(cluster)
    await cluster.register("a")

    with pytest.raises(Rejected) as refused:
        await cluster.report(task)

    assert refused.value.code == "FENCED"


async def test_a_registration_that_is_not_known_yet_may_come_again(
    cluster: ConnectorCluster,
) -> None:
    task = await given(cluster)
    cluster.node.mirrors_lag = True
    epoch = await cluster.register("a")
    task.worker_epoch = epoch

    with pytest.raises(Rejected) as refused:
        await cluster.report(task)

    assert refused.value.code == "BROKER_UNKNOWN"
    cluster.node.mirror()
    with pytest.raises(Rejected, match="FENCED"):
        await cluster.report(task)


async def test_one_report_that_is_refused_does_not_hide_the_others(
    cluster: ConnectorCluster,
) -> None:
    await cluster.found("a")
    await cluster.create(tasks=2)
    await cluster.schedule()
    first, second = cluster.tasks()
    reports = [
        TaskReport(task=first.id, epoch=first.epoch - 1, state=TASK_STATE_RUNNING),
        TaskReport(task=TaskId(tenant="acme", connector="none"), epoch=1, state=TASK_STATE_RUNNING),
        TaskReport(task=second.id, epoch=second.epoch, state=TASK_STATE_RUNNING),
    ]

    command = ReportTasks(worker="a", worker_epoch=cluster.epoch("a"), reports=reports)
    reply = await cluster.node.propose(command, BatchReply)

    assert [(each.item, each.code) for each in reply.refusals] == [(0, "FENCED"), (1, "NOT_FOUND")]
    assert [task.state for task in cluster.tasks()] == [TASK_STATE_ASSIGNED, TASK_STATE_RUNNING]


@pytest.mark.parametrize(
    ("field", "command"),
    [
        ("worker", ReportTasks(worker_epoch=1)),
        ("worker_epoch", ReportTasks(worker="a")),
        ("timeout_ms", ReportTasks(worker="a", worker_epoch=1, timeout_ms=3_600_001)),
        (
            "reports[0].state",
            ReportTasks(
                worker="a",
                worker_epoch=1,
                reports=[
                    TaskReport(
                        task=TaskId(tenant="t", connector="c"),
                        epoch=1,
                        state=TASK_STATE_UNASSIGNED,
                    )
                ],
            ),
        ),
        ("reports", ReportTasks(worker="a", worker_epoch=1, reports=[TaskReport()] * 1_001)),
    ],
)
async def test_what_no_worker_says_is_refused_with_its_field(
    cluster: ConnectorCluster, field: str, command: ReportTasks
) -> None:
    with pytest.raises(Invalid) as refused:
        await cluster.node.propose(command, BatchReply)

    assert refused.value.field == field


async def test_failures_wait_longer_each_time_and_end(cluster: ConnectorCluster) -> None:
    await cluster.found("a")
    await cluster.create(failures=4, backoff_ms=1_000)
    waits = []
    for _ in range(3):
        await cluster.schedule()
        before = cluster.task()
        task = await cluster.report(before, TASK_STATE_FAILED, "no such host")
        assert (task.state, task.worker, task.reason) == (TASK_STATE_RESTARTING, "", "no such host")
        assert task.epoch > before.epoch
        waits.append(task.retry_at_ms - cluster.node.now_ms)
        await cluster.node.advance(waits[-1] - 1)
        assert cluster.task().state == TASK_STATE_RESTARTING
        await cluster.beat("a")
        await cluster.node.advance(1)
        assert cluster.task().state == TASK_STATE_UNASSIGNED
    await cluster.schedule()

    task = await cluster.report(cluster.task(), TASK_STATE_FAILED, "still no such host")

    assert waits == [1_000, 2_000, 4_000]
    assert (task.state, task.reason, task.failures) == (TASK_STATE_FAILED, "still no such host", 4)
    await cluster.node.advance(600_000)
    await cluster.schedule()
    assert cluster.task().state == TASK_STATE_FAILED
    assert not differences(cluster.node)


async def test_no_wait_is_longer_than_five_minutes(cluster: ConnectorCluster) -> None:
    await cluster.found("a")
    await cluster.create(failures=100, backoff_ms=200_000)
    for expected in (200_000, 300_000, 300_000):
        await cluster.beat("a", timeout_ms=3_600_000)
        await cluster.schedule()
        task = await cluster.report(cluster.task(), TASK_STATE_FAILED)
        assert task.retry_at_ms - cluster.node.now_ms == expected
        await cluster.beat("a", timeout_ms=3_600_000)
        await cluster.node.advance(expected)


@pytest.mark.parametrize(("ran_ms", "failures"), [(599_999, 2), (600_000, 1)])
async def test_ten_minutes_of_running_make_good_for_failures(
    cluster: ConnectorCluster, ran_ms: int, failures: int
) -> None:
    task = await given(cluster)
    await cluster.report(task, TASK_STATE_FAILED)
    await cluster.node.advance(1_000)
    await cluster.schedule()
    await cluster.report(cluster.task(), timeout_ms=3_600_000)
    await cluster.node.advance(ran_ms)

    assert (await cluster.report(cluster.task(), TASK_STATE_FAILED)).failures == failures


async def test_a_pause_leaves_the_task_with_its_worker(cluster: ConnectorCluster) -> None:
    task = await given(cluster)
    await cluster.report(task)

    await cluster.aim(TARGET_PAUSED)

    assert (cluster.task().target, cluster.task().state) == (TARGET_PAUSED, TASK_STATE_RUNNING)
    paused = await cluster.report(task, TASK_STATE_PAUSED)
    assert (paused.state, paused.worker, paused.epoch) == (TASK_STATE_PAUSED, "a", task.epoch)
    await cluster.aim(TARGET_RUNNING)
    assert (await cluster.report(task)).state == TASK_STATE_RUNNING


async def test_a_stop_takes_the_task_from_its_worker_in_order(cluster: ConnectorCluster) -> None:
    task = await given(cluster)
    await cluster.report(task)

    await cluster.aim(TARGET_STOPPED)

    leaving = cluster.task()
    assert leaving.state == TASK_STATE_RUNNING
    assert leaving.release_by_ms == cluster.node.now_ms + 10_000
    stopped = await cluster.report(task, TASK_STATE_STOPPED)
    assert (stopped.state, stopped.worker, stopped.release_by_ms) == (TASK_STATE_STOPPED, "", 0)
    await cluster.schedule()
    assert cluster.task().state == TASK_STATE_STOPPED
    await cluster.aim(TARGET_RUNNING)
    await cluster.schedule()
    assert cluster.task().state == TASK_STATE_ASSIGNED
    assert not differences(cluster.node)


async def test_a_worker_that_does_not_let_go_loses_the_task(cluster: ConnectorCluster) -> None:
    task = await given(cluster)
    await cluster.report(task, timeout_ms=60_000)
    await cluster.aim(TARGET_STOPPED)

    await cluster.node.advance(9_999)
    assert cluster.task().worker == "a"
    await cluster.node.advance(1)

    assert (cluster.task().state, cluster.task().worker) == (TASK_STATE_STOPPED, "")
    assert "did not release it in time" in cluster.task().reason
    with pytest.raises(Rejected, match="FENCED"):
        await cluster.store(task, b"late")


async def test_resumed_before_it_stopped_it_goes_on_under_its_epoch(
    cluster: ConnectorCluster,
) -> None:
    task = await given(cluster)
    await cluster.report(task, timeout_ms=60_000)
    await cluster.aim(TARGET_STOPPED)

    await cluster.aim(TARGET_RUNNING)
    await cluster.node.advance(20_000)

    assert (cluster.task().worker, cluster.task().epoch) == ("a", task.epoch)
    assert cluster.task().release_by_ms == 0
    assert not differences(cluster.node)


async def test_a_failure_while_the_connector_stops_is_its_end(cluster: ConnectorCluster) -> None:
    task = await given(cluster)
    await cluster.aim(TARGET_STOPPED)

    assert (await cluster.report(task, TASK_STATE_FAILED)).state == TASK_STATE_STOPPED


async def test_a_worker_finds_its_tasks_under_its_name_and_epoch(cluster: ConnectorCluster) -> None:
    task = await given(cluster, "a", "b")

    rows = cluster.node.rows(ASSIGNMENTS)
    assert rows == {
        keys.pack("a", cluster.epoch("a"), "acme", "c", 0): task.SerializeToString(
            deterministic=True
        )
    }
    await cluster.report(task, TASK_STATE_FAILED)
    assert not cluster.node.rows(ASSIGNMENTS)


async def test_a_reason_is_kept_to_its_limit(cluster: ConnectorCluster) -> None:
    task = await given(cluster)

    failed = await cluster.report(task, TASK_STATE_FAILED, "é" * 3_000)

    assert failed.reason == "é" * 2_048
