import pytest
from quorate.plugin import Rejected
from quorate.v1.batch_pb2 import BatchReply
from quorate_connector.families import life_key
from quorate_connector.v1.tasks_pb2 import (
    TASK_STATE_STOPPED,
    ExpireWorkers,
    ListWorkersRequest,
    UndrainWorker,
    Worker,
    WorkerLoad,
)
from quorate_connector.workers.apply import AWAY_MS

from tests.support.connector.fleet import ConnectorCluster
from tests.support.connector.indexes import differences


async def listed(cluster: ConnectorCluster) -> list[WorkerLoad]:
    servicer = cluster.node.servicer("quorate_connector.v1.TaskService")
    return list((await servicer.ListWorkers(ListWorkersRequest(), None)).workers)


async def test_a_worker_that_never_spoke_loses_what_it_was_given(cluster: ConnectorCluster) -> None:
    await cluster.found("ab")
    await cluster.create(tasks=2)
    await cluster.schedule()
    await cluster.node.advance(9_999)
    await cluster.beat("b")

    await cluster.node.advance(1)
    await cluster.node.run_woken()

    assert cluster.workers()["a"].silent
    assert cluster.loads() == {"b": 2}
    assert "a gave no sign in time" in str(cluster.node.events)


async def test_a_new_leader_waits_for_a_whole_timeout_first(cluster: ConnectorCluster) -> None:
    await cluster.found("ab")
    await cluster.create(tasks=2)
    await cluster.schedule()
    await cluster.node.advance(9_000)
    cluster.node.elect("mqtt")
    await cluster.beat("b", timeout_ms=60_000)

    await cluster.node.advance(9_999)
    assert not cluster.workers()["a"].silent
    await cluster.node.advance(1)

    assert cluster.workers()["a"].silent


async def test_who_speaks_again_before_it_is_too_late_keeps_its_tasks(
    cluster: ConnectorCluster,
) -> None:
    await cluster.found("ab")
    await cluster.create(tasks=2)
    await cluster.schedule()
    await cluster.node.advance(10_000)
    assert cluster.workers()["a"].silent

    await cluster.beat("a")
    await cluster.beat("b")
    await cluster.schedule()

    assert cluster.loads() == {"a": 1, "b": 1}
    assert not cluster.workers()["a"].silent


async def test_a_silent_worker_is_given_nothing_until_it_speaks(cluster: ConnectorCluster) -> None:
    await cluster.found("a")
    await cluster.create()
    await cluster.schedule()
    await cluster.node.advance(10_000)
    await cluster.schedule()
    assert cluster.loads() == {"": 1}

    await cluster.beat("a")
    await cluster.schedule()

    assert cluster.loads() == {"a": 1}


async def test_the_time_that_a_worker_names_counts(cluster: ConnectorCluster) -> None:
    await cluster.found("a")
    await cluster.beat("a", timeout_ms=3_000)

    await cluster.node.advance(2_999)
    assert not cluster.workers()["a"].silent
    await cluster.node.advance(1)

    assert cluster.workers()["a"].silent


async def test_the_process_before_does_not_silence_the_next(cluster: ConnectorCluster) -> None:
    await cluster.found("a")
    await cluster.beat("a")
    await cluster.node.advance(9_000)
    await cluster.register("a")
    await cluster.beat("a")

    await cluster.node.advance(5_000)

    assert not cluster.workers()["a"].silent


async def test_an_old_key_silences_nobody(cluster: ConnectorCluster) -> None:
    await cluster.found("a")
    await cluster.beat("a")

    command = ExpireWorkers(keys=[life_key("a", cluster.epoch("a")), life_key("a", 99)])
    await cluster.node.propose(command, BatchReply)

    assert not cluster.workers()["a"].silent


async def test_a_worker_that_has_left_is_forgotten(cluster: ConnectorCluster) -> None:
    await cluster.found("ab")
    await cluster.create(tasks=2)
    await cluster.schedule()
    await cluster.unregister("a")
    await cluster.beat("b", timeout_ms=600_000)
    await cluster.schedule()

    await cluster.node.advance(10_000)

    assert set(cluster.workers()) == {"b"}


async def test_a_silent_worker_is_forgotten_once_it_has_left(cluster: ConnectorCluster) -> None:
    await cluster.found("ab")
    await cluster.beat("a")
    await cluster.node.advance(10_000)
    await cluster.unregister("a")
    assert cluster.workers()["a"].silent

    await cluster.node.advance(60_000)

    assert "a" not in cluster.workers()


async def test_a_drained_worker_is_emptied_in_order(cluster: ConnectorCluster) -> None:
    await cluster.found("ab")
    await cluster.create(tasks=4)
    await cluster.schedule()
    mine = [await cluster.report(task) for task in cluster.tasks() if task.worker == "a"]

    await cluster.drain("a", release_timeout_ms=5_000)
    await cluster.schedule()

    assert [task.worker for task in cluster.tasks()].count("a") == 2
    for task in mine:
        leaving = cluster.task(task.id.number)
        assert leaving.release_by_ms == cluster.node.now_ms + 5_000
        assert leaving.reason == "worker a is drained"
        await cluster.report(task, TASK_STATE_STOPPED)
    await cluster.schedule()
    assert cluster.loads() == {"b": 4}
    assert not differences(cluster.node)


async def test_a_drained_worker_that_holds_on_is_emptied_all_the_same(
    cluster: ConnectorCluster,
) -> None:
    await cluster.found("ab")
    await cluster.create(tasks=4)
    await cluster.schedule()
    await cluster.drain("a", release_timeout_ms=2_000)
    await cluster.schedule()

    await cluster.node.advance(2_000)
    await cluster.node.run_woken()

    assert cluster.loads() == {"b": 4}


async def test_a_drain_outlives_the_process(cluster: ConnectorCluster) -> None:
    await cluster.found("a")
    await cluster.beat("a")
    await cluster.drain("a")
    await cluster.unregister("a")
    await cluster.node.advance(100_000)
    await cluster.register("a")
    await cluster.create()
    await cluster.schedule()
    assert cluster.loads() == {"": 1}

    await cluster.node.propose(UndrainWorker(worker="a"), Worker)
    await cluster.schedule()

    assert cluster.loads() == {"a": 1}
    assert not cluster.workers()["a"].draining


@pytest.mark.parametrize("heard", [True, False])
async def test_a_drain_ends_when_the_worker_stays_away(
    cluster: ConnectorCluster, heard: bool
) -> None:
    await cluster.found("a")
    if heard:
        await cluster.beat("a")
    await cluster.drain("a")
    await cluster.unregister("a")

    await cluster.node.advance(10_000)
    await cluster.node.advance(AWAY_MS - 10_001)
    assert cluster.workers()["a"].draining
    await cluster.node.advance(10_001)

    assert not cluster.workers()


async def test_a_drained_worker_that_is_there_stays_drained(cluster: ConnectorCluster) -> None:
    await cluster.found("a")
    await cluster.drain("a")

    for _ in range(3):
        await cluster.node.advance(AWAY_MS - 1_000)
        await cluster.register("a")
        await cluster.node.advance(1_000)

    assert cluster.workers()["a"].draining


async def test_the_end_of_a_drain_leaves_no_row_of_who_has_left(cluster: ConnectorCluster) -> None:
    await cluster.found("a")
    await cluster.drain("a")
    await cluster.unregister("a")

    await cluster.node.propose(UndrainWorker(worker="a"), Worker)

    assert not cluster.workers()


@pytest.mark.parametrize("role", ["", "engine"])
async def test_nobody_is_drained_who_is_no_worker(cluster: ConnectorCluster, role: str) -> None:
    await cluster.found()
    if role:
        await cluster.register("a", role=role)

    with pytest.raises(Rejected) as refused:
        await cluster.drain("a")

    assert refused.value.code == "NOT_FOUND"


async def test_workers_are_listed_with_what_they_have(cluster: ConnectorCluster) -> None:
    await cluster.found("ab")
    await cluster.register("e", role="engine")
    await cluster.create(tasks=3)
    await cluster.schedule()
    await cluster.unregister("a")

    found = await listed(cluster)

    assert [(each.worker.name, each.registered, each.tasks) for each in found] == [
        ("a", False, 2),
        ("b", True, 1),
    ]
