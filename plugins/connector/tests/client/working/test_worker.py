"""A worker does what the rows of its tasks ask for, and nothing once it may not be its any more."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from quorate.client import RejectedError
from quorate_connector.client import AssignedTask, ConnectorWorker
from quorate_connector.v1.connectors_pb2 import Connector, Definition, UpdateConnectorRequest
from quorate_connector.v1.tasks_pb2 import (
    TASK_STATE_ASSIGNED,
    TASK_STATE_FAILED,
    TASK_STATE_PAUSED,
    TASK_STATE_RESTARTING,
    TASK_STATE_RUNNING,
    TASK_STATE_STOPPED,
    ReportTasks,
)

if TYPE_CHECKING:
    from plugins.connector.tests.client.working.conftest import VirtualCluster

TIMEOUT_MS = 6_000


async def test_tasks_run_and_that_is_told(cluster: VirtualCluster) -> None:
    async with cluster.worker("w", labels={"zone": "north"}):
        await cluster.create(tasks=3)

        tasks = [await cluster.state(TASK_STATE_RUNNING, number=number) for number in range(3)]

        assert {task.worker for task in tasks} == {"w"}
        assert sorted(cluster.runs) == [("w", "c", each.id.number, each.epoch) for each in tasks]
        broker = await cluster.q.brokers.get("w")
        assert broker is not None
        assert (list(broker.roles), dict(broker.labels)) == (["connector"], {"zone": "north"})
    assert cluster.runs == []


async def test_a_quiet_worker_sends_heartbeats_and_no_more(cluster: VirtualCluster) -> None:
    client = cluster.client()
    async with cluster.worker("w", client=client, timeout_ms=TIMEOUT_MS):
        await cluster.create()
        await cluster.state(TASK_STATE_RUNNING)
        client.sent.clear()
        began = cluster.now()

        await cluster.until(lambda: cluster.now() >= began + 30)

        reports = [each for each in client.sent if isinstance(each, ReportTasks)]
        assert 14 <= len(reports) <= 17
        # Each is confirmed about once in the timeout.
        assert 4 <= sum(len(each.reports) for each in reports) <= 6
        assert (await cluster.task()).worker == "w"


async def test_a_paused_task_stays_where_it_is_and_does_nothing(cluster: VirtualCluster) -> None:
    async with cluster.worker("w"):
        await cluster.create()
        running = await cluster.state(TASK_STATE_RUNNING)

        await cluster.connectors.pause("acme", "c")
        paused = await cluster.state(TASK_STATE_PAUSED)

        assert cluster.runs == []
        assert (paused.worker, paused.epoch) == ("w", running.epoch)
        await cluster.connectors.resume("acme", "c")
        await cluster.state(TASK_STATE_RUNNING)
        await cluster.until(lambda: cluster.runs == [("w", "c", 0, running.epoch)])


async def test_a_stopped_task_is_nobodys(cluster: VirtualCluster) -> None:
    async with cluster.worker("w"):
        await cluster.create()
        await cluster.state(TASK_STATE_RUNNING)
        began = cluster.now()

        await cluster.connectors.stop("acme", "c")
        stopped = await cluster.state(TASK_STATE_STOPPED)

        assert cluster.now() < began + 1, "it was taken away and not let go of"
        assert stopped.worker == ""
        assert cluster.runs == []
        await cluster.connectors.resume("acme", "c")
        await cluster.state(TASK_STATE_RUNNING)


async def test_a_deleted_task_ends(cluster: VirtualCluster) -> None:
    async with cluster.worker("w"):
        await cluster.create()
        await cluster.until(lambda: len(cluster.runs) == 1)
        began = cluster.now()
        await cluster.connectors.delete("acme", "c")
        await cluster.until(lambda: not cluster.runs)
        assert cluster.now() < began + 1


async def test_the_next_run_waits_for_the_end_of_the_last_one(cluster: VirtualCluster) -> None:
    cleaned = []

    async def slow(task: AssignedTask[Any]) -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            await asyncio.sleep(5)
            cleaned.append(task.epoch)

    async with cluster.worker("w", slow):
        await cluster.create()
        first = await cluster.state(TASK_STATE_RUNNING)
        await cluster.until(lambda: len(cluster.runs) == 1)
        # Each of these would cancel it, were it not being cancelled already.
        for _ in range(3):
            await cluster.connectors.pause("acme", "c")
            await cluster.connectors.resume("acme", "c")
        await cluster.connectors.restart("acme", "c")
        await cluster.until(lambda: cleaned == [first.epoch])
        second = await cluster.state(TASK_STATE_RUNNING)
        await cluster.until(lambda: cluster.runs == [("w", "c", 0, second.epoch)])
        assert second.epoch > first.epoch


async def test_a_task_that_fails_again_and_again_has_failed(cluster: VirtualCluster) -> None:
    async def broken(task: AssignedTask[Any]) -> None:
        await asyncio.sleep(0.1)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(worse())

    async def worse() -> None:
        raise OSError("the disk is full")

    async with cluster.worker("w", broken):
        await cluster.create()
        restarting = await cluster.state(TASK_STATE_RESTARTING)
        assert (restarting.reason, restarting.worker) == ("OSError: the disk is full", "")
        failed = await cluster.state(TASK_STATE_FAILED)
        assert (failed.failures, failed.reason) == (3, "OSError: the disk is full")
        await cluster.connectors.restart("acme", "c")
        await cluster.state(TASK_STATE_RUNNING)


async def test_to_return_is_to_fail(cluster: VirtualCluster) -> None:
    async def short(task: AssignedTask[Any]) -> None:
        await asyncio.sleep(1)

    async def cancelled(task: AssignedTask[Any]) -> None:
        raise asyncio.CancelledError

    for name, run in (("short", short), ("cancelled", cancelled)):
        async with cluster.worker("w", run):
            await cluster.create(name)
            task = await cluster.state(TASK_STATE_RESTARTING, name)
            assert "it has ended by itself" in task.reason
            await cluster.connectors.delete("acme", name)


async def test_a_worker_that_cannot_run_a_type_says_so(cluster: VirtualCluster) -> None:
    worker = ConnectorWorker(
        cluster.client().as_client, "w", "test", [cluster.runner("w", type_name="other")]
    )
    working = asyncio.create_task(worker.run())
    await cluster.create()
    task = await cluster.state(TASK_STATE_RESTARTING)
    assert "runs no connectors of the type nonsense, only of: other" in task.reason
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)


async def test_a_configuration_that_the_worker_does_not_understand_is_not_shown(
    cluster: VirtualCluster,
) -> None:
    async with cluster.worker("w"):
        await cluster.create(config=b'{"says": "hush"}')
        task = await cluster.state(TASK_STATE_RESTARTING)
        assert "says: is not a field of this type" in task.reason
        assert "hush" not in task.reason


async def test_the_tasks_of_a_worker_that_is_cut_off_end_before_others_begin(
    cluster: VirtualCluster,
) -> None:
    client = cluster.client()
    async with cluster.worker("a", client=client, timeout_ms=TIMEOUT_MS):
        await cluster.create(tasks=2)
        await cluster.until(lambda: len(cluster.runs) == 2)
        async with cluster.worker("b", timeout_ms=TIMEOUT_MS):
            client.cut()
            began = cluster.now()

            # `overlaps` tells if any had not ended.
            await cluster.until(lambda: [run[0] for run in cluster.runs] == ["b", "b"])

            assert cluster.now() < began + TIMEOUT_MS / 1_000 + 2
            client.heal()
            await cluster.until(lambda: {run[0] for run in cluster.runs} == {"a", "b"})


async def test_a_worker_goes_on_that_was_cut_off_with_nobody_to_take_over(
    cluster: VirtualCluster,
) -> None:
    client = cluster.client()
    async with cluster.worker("w", client=client, timeout_ms=TIMEOUT_MS):
        await cluster.create()
        await cluster.until(lambda: len(cluster.runs) == 1)
        first = await cluster.q.brokers.get("w")
        for cut_s in (1, 45):
            client.cut()
            began = cluster.now()
            await cluster.until(lambda: cluster.now() > began + cut_s)  # noqa: B023
            assert len(cluster.runs) == (1 if cut_s < 5 else 0)
            client.heal()
            await cluster.until(lambda: len(cluster.runs) == 1)
        later = await cluster.q.brokers.get("w")
        assert first is not None
        assert later is not None
        assert later.epoch > first.epoch


async def test_a_worker_waits_for_the_cluster(cluster: VirtualCluster) -> None:
    client = cluster.client()
    client.cut()
    async with cluster.worker("w", client=client):
        await cluster.create()
        began = cluster.now()
        await cluster.until(lambda: cluster.now() > began + 45)
        client.heal()
        await cluster.until(lambda: len(cluster.runs) == 1)


async def test_nothing_runs_that_the_cluster_has_not_agreed_to(cluster: VirtualCluster) -> None:
    client = cluster.client()
    async with cluster.worker("w", client=client, timeout_ms=TIMEOUT_MS):
        await cluster.create("a")
        await cluster.until(lambda: len(cluster.runs) == 1)
        client.mute()
        await cluster.create("b")
        await cluster.state(TASK_STATE_ASSIGNED, "b")
        assert [run[1] for run in cluster.runs] == ["a"]
        client.heal()
        await cluster.until(lambda: len(cluster.runs) == 2)


async def test_what_the_cluster_agreed_to_long_ago_is_asked_again(cluster: VirtualCluster) -> None:
    client = cluster.client()
    async with cluster.worker("a", client=client, timeout_ms=TIMEOUT_MS):
        await cluster.until(lambda: any(isinstance(each, ReportTasks) for each in client.sent))
        client.late_s = 20
        await cluster.create()
        await cluster.state(TASK_STATE_RUNNING)
        client.blind()
        began = cluster.now()
        async with cluster.worker("b", timeout_ms=TIMEOUT_MS):
            await cluster.until(lambda: cluster.now() > began + 30)
            # `overlaps` tells if the first one has begun meanwhile.
            assert [run[0] for run in cluster.runs] == ["b"]


async def test_a_worker_whose_watch_stands_still_hears_of_what_was_taken(
    cluster: VirtualCluster,
) -> None:
    client = cluster.client()
    async with cluster.worker("w", client=client, timeout_ms=TIMEOUT_MS):
        await cluster.create()
        await cluster.until(lambda: len(cluster.runs) == 1)
        client.blind()
        began = cluster.now()
        await cluster.connectors.delete("acme", "c")
        await cluster.until(lambda: not cluster.runs)
        assert cluster.now() < began + 1.5 * TIMEOUT_MS / 1_000


async def test_a_worker_that_has_missed_something_is_told_everything_again(
    cluster: VirtualCluster,
) -> None:
    client = cluster.client()
    async with cluster.worker("w", client=client):
        for name in ("stays", "goes"):
            await cluster.create(name)
        await cluster.until(lambda: len(cluster.runs) == 2)
        client.blind()
        await cluster.create("comes")
        await cluster.state(TASK_STATE_ASSIGNED, "comes")
        await cluster.connectors.delete("acme", "goes")
        cluster.node.forget_history("mqtt")
        began = cluster.now()
        client.heal()
        await cluster.until(lambda: {run[1] for run in cluster.runs} == {"stays", "comes"})
        assert cluster.now() < began + 1
        assert cluster.begun == 3, "what has stayed was not to be interrupted"


async def test_a_registration_that_is_quite_new_is_waited_for(cluster: VirtualCluster) -> None:
    async with cluster.worker("w"):
        await cluster.create()
        await cluster.until(lambda: len(cluster.runs) == 1)
        cluster.node.mirrors_lag = True
        # The first one of these is what the shard knows, and then nobody.
        async with cluster.worker("v"):
            await cluster.connectors.workers.drain("w")
            await cluster.until(lambda: not cluster.runs)
            cluster.node.mirror()
            await cluster.until(lambda: [run[0] for run in cluster.runs] == ["v"])
            cluster.node.mirrors_lag = False


@pytest.mark.ci
async def test_more_tasks_than_one_command_reports(cluster: VirtualCluster) -> None:
    client = cluster.client()
    async with cluster.worker("w", client=client):
        await cluster.create("first")
        await cluster.until(lambda: len(cluster.runs) == 1)
        client.mute()
        for name in ("a", "b"):
            await cluster.create(name, tasks=520)
        await cluster.until(lambda: len(cluster.node.rows("connector.assignments")) == 1_041)
        given = cluster.now()
        await cluster.until(lambda: cluster.now() > given + 1)
        client.heal()
        await cluster.until(lambda: len(cluster.runs) == 1_041)
        sizes = {len(each.reports) for each in client.sent if isinstance(each, ReportTasks)}
        assert max(sizes) == 1_000


async def test_a_second_worker_of_a_name_ends_the_first(cluster: VirtualCluster) -> None:
    async with cluster.worker("w") as first:
        await cluster.create()
        await cluster.until(lambda: len(cluster.runs) == 1)
        async with cluster.worker("w") as second:
            with pytest.raises(RejectedError, match="FENCED"):
                await asyncio.wait_for(first, 60)
            broker = await cluster.q.brokers.get("w")
            assert broker is not None
            await cluster.until(lambda: len(cluster.runs) == 1)
            assert (await cluster.task()).worker_epoch == broker.epoch
            assert not second.done()


async def test_a_worker_whose_reports_are_refused_stops_its_tasks(
    cluster: VirtualCluster,
) -> None:
    client = cluster.client()
    async with cluster.worker("w", client=client):
        await cluster.create(tasks=2)
        await cluster.until(lambda: len(cluster.runs) == 2)
        # It hears of nothing else, and not that another process has its name.
        client.blind()
        client.heartless = True
        began = cluster.now()
        await cluster.q.brokers.register("w", "test", roles=["connector"])
        await cluster.until(lambda: not cluster.runs)
        assert cluster.now() < began + 5


async def test_a_worker_that_ends_leaves_its_tasks_to_others_at_once(
    cluster: VirtualCluster,
) -> None:
    async with cluster.worker("b"), cluster.worker("a") as working:
        await cluster.create(tasks=4)
        await cluster.until(lambda: len(cluster.runs) == 4)
        began = cluster.now()
        working.cancel()
        await cluster.until(lambda: [run[0] for run in cluster.runs] == ["b"] * 4)
        assert cluster.now() < began + 2
        assert await cluster.q.brokers.get("a") is None


async def test_a_drained_worker_lets_go_in_order(cluster: VirtualCluster) -> None:
    async with cluster.worker("b"), cluster.worker("a"):
        await cluster.create(tasks=4)
        await cluster.until(lambda: len(cluster.runs) == 4)
        began = cluster.now()
        await cluster.connectors.workers.drain("a")
        await cluster.until(lambda: [run[0] for run in cluster.runs] == ["b"] * 4)
        assert cluster.now() < began + 5, "they were taken away and not let go of"
        [a, b] = await cluster.connectors.workers.list()
        assert (a.worker.draining, a.tasks, b.tasks) == (True, 0, 4)
        await cluster.connectors.workers.undrain("a")
        await cluster.until(lambda: sorted(run[0] for run in cluster.runs) == ["a", "a", "b", "b"])


async def test_a_newer_definition_is_what_runs(cluster: VirtualCluster) -> None:
    said: list[str] = []

    async def say(task: AssignedTask[Any]) -> None:
        said.append(task.config.say)
        await asyncio.get_running_loop().create_future()

    async with cluster.worker("w", say):
        await cluster.create(config=b'{"say": "one"}')
        await cluster.until(lambda: said == ["one"])
        definition = Definition(
            type="nonsense",
            config=b'{"say": "two"}',
            tasks_max=1,
            failures_max=3,
            backoff_ms=1_000,
        )
        update = UpdateConnectorRequest(tenant="acme", name="c", definition=definition)
        await cluster.node.propose(update, Connector)
        await cluster.until(lambda: said == ["one", "two"])
        assert len(cluster.runs) == 1


async def test_many_long_reasons_are_told_in_parts(cluster: VirtualCluster) -> None:
    together = asyncio.Event()

    async def fail(task: AssignedTask[Any]) -> None:
        await together.wait()
        raise OSError("no " * 2_000)

    client = cluster.client()
    async with cluster.worker("w", fail, client=client):
        await cluster.create(tasks=100)
        await cluster.until(lambda: len(cluster.runs) == 100)
        together.set()
        await cluster.state(TASK_STATE_RESTARTING, number=99)

    told = [each for each in client.sent if isinstance(each, ReportTasks) and each.reports]
    assert sum(each.ByteSize() for each in told) > 400_000
    assert max(each.ByteSize() for each in told) < 270_000
