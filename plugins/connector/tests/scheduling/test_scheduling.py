import asyncio
from collections import Counter
from typing import Any

import pytest
from google.protobuf.message import Message
from quorate.apply.txn import ShardTxn
from quorate.builtin.cluster.api import BROKERS
from quorate.plugin import Rejected
from quorate.v1.batch_pb2 import BatchReply
from quorate_connector.families import TALLIES, WORKERS
from quorate_connector.scheduling.controllers import AT_A_TIME
from quorate_connector.v1.connectors_pb2 import (
    TARGET_PAUSED,
    Connector,
    RestartTasks,
    UpdateConnectorRequest,
)
from quorate_connector.v1.tasks_pb2 import (
    TASK_STATE_ASSIGNED,
    TASK_STATE_FAILED,
    TASK_STATE_STOPPED,
    TASK_STATE_UNASSIGNED,
    Assignment,
    AssignTasks,
    Reclaim,
    ReclaimTasks,
    Release,
    ReleaseTasks,
)

from tests.support.connector.fleet import SCHEDULING, ConnectorCluster
from tests.support.connector.indexes import differences


def places(cluster: ConnectorCluster) -> dict[tuple[str, int], tuple[str, int]]:
    return {
        (task.id.connector, task.id.number): (task.worker, task.epoch) for task in cluster.tasks()
    }


def noting(touched: Counter[str], use: Any) -> Any:
    def noted(txn: ShardTxn, family: str, *args: Any) -> Any:
        touched[family] += 1
        return use(txn, family, *args)

    return noted


async def settled(cluster: ConnectorCluster, rounds: int = 40) -> int:
    """Let workers stop what they are to let go of; return how many tasks moved."""
    moved = 0
    for _ in range(rounds):
        await cluster.node.run_woken()
        await cluster.schedule()
        leaving = [task for task in cluster.tasks() if task.release_by_ms]
        if not leaving:
            return moved
        for task in leaving:
            await cluster.report(task, TASK_STATE_STOPPED)
        moved += len(leaving)
    raise AssertionError("tasks move for ever")


async def test_tasks_wait_for_a_worker_with_the_role(cluster: ConnectorCluster) -> None:
    await cluster.found()
    await cluster.register("e", role="engine")
    await cluster.create(tasks=2)
    await cluster.node.run_woken()
    assert cluster.loads() == {"": 2}

    await cluster.register("a")
    assert SCHEDULING in cluster.node.woken
    await cluster.node.run_woken()

    assert cluster.loads() == {"a": 2}


async def test_tasks_go_where_the_labels_are(cluster: ConnectorCluster) -> None:
    await cluster.found("a")
    await cluster.register("b", disk="fast", zone="north")
    await cluster.register("c", disk="slow", zone="north")
    await cluster.create("fast", tasks=3, labels={"disk": "fast"})
    await cluster.create("both", tasks=3, labels={"disk": "slow", "zone": "north"})
    await cluster.create("none", tasks=3, labels={"disk": "fast", "zone": "south"})
    await cluster.node.run_woken()

    found = Counter((task.id.connector, task.worker) for task in cluster.tasks())

    assert found == {("fast", "b"): 3, ("both", "c"): 3, ("none", ""): 3}


async def test_a_death_moves_its_own_tasks_and_no_other(cluster: ConnectorCluster) -> None:
    await cluster.found("abcd")
    for number in range(10):
        await cluster.create(f"c-{number}", tasks=4)
    await cluster.node.run_woken()
    assert set(cluster.loads().values()) == {10}
    before = places(cluster)

    await cluster.unregister("c")
    await cluster.node.run_woken()

    after = places(cluster)
    for task, (worker, epoch) in before.items():
        if worker == "c":
            assert after[task][0] in "abd"
        else:
            assert after[task] == (worker, epoch)
    loads = cluster.loads().values()
    assert max(loads) - min(loads) <= 1


async def test_a_worker_that_comes_back_at_once_gets_its_tasks_back(
    cluster: ConnectorCluster,
) -> None:
    await cluster.found("abc")
    await cluster.create(tasks=9)
    await cluster.node.run_woken()
    before = places(cluster)

    await cluster.register("b")
    await cluster.node.run_woken()

    after = places(cluster)
    assert {task: worker for task, (worker, _) in after.items()} == {
        task: worker for task, (worker, _) in before.items()
    }
    assert all(
        (after[task][1] > epoch) == (worker == "b") for task, (worker, epoch) in before.items()
    )


async def test_a_new_worker_gets_its_part_with_the_fewest_moves() -> None:
    cluster = ConnectorCluster({"releases": 3})
    await cluster.found("abc")
    await cluster.create(tasks=40)
    await cluster.node.run_woken()
    await cluster.register("d")

    await cluster.schedule()
    assert sum(task.release_by_ms > 0 for task in cluster.tasks()) == 3
    proposed = len(cluster.node.proposals)
    await cluster.schedule()
    assert len(cluster.node.proposals) == proposed
    moved = await settled(cluster)

    assert cluster.loads() == {"a": 10, "b": 10, "c": 10, "d": 10}
    assert moved == 10
    assert not differences(cluster.node)


async def test_what_is_leaving_a_worker_makes_room_there(cluster: ConnectorCluster) -> None:
    await cluster.found("ab")
    await cluster.create(tasks=4)
    await cluster.node.run_woken()
    leaving = [
        Release(task=task.id, expected_epoch=task.epoch, timeout_ms=5_000)
        for task in cluster.tasks()
        if task.worker == "a"
    ]
    await cluster.node.propose(ReleaseTasks(releases=leaving), BatchReply)

    await cluster.create("d", tasks=2)
    await cluster.schedule()

    assert {cluster.task(number, "d").worker for number in range(2)} == {"a"}


async def test_what_is_lost_and_cannot_be_reclaimed_makes_no_room(
    cluster: ConnectorCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    await cluster.found("ab")
    await cluster.create(tasks=8)
    await cluster.node.run_woken()
    leaving = [
        Release(task=task.id, expected_epoch=task.epoch, timeout_ms=5_000)
        for task in cluster.tasks()
        if task.worker == "a"
    ]
    await cluster.node.propose(ReleaseTasks(releases=leaving[:2]), BatchReply)
    await cluster.register("a")
    await cluster.create("d", tasks=6)
    propose = cluster.node.propose

    async def refusing(command: Message, *args: Any, **options: Any) -> Any:
        if not isinstance(command, ReclaimTasks):
            return await propose(command, *args, **options)
        reply = BatchReply(items=len(command.reclaims))
        for item in range(reply.items):
            reply.refusals.add(item=item, code="TASK_CHANGED")
        return reply

    monkeypatch.setattr(cluster.node, "propose", refusing)
    await cluster.schedule()

    given = Counter(cluster.task(number, "d").worker for number in range(6))
    assert given == {"a": 5, "b": 1}


async def test_nothing_moves_for_balance_when_it_is_switched_off() -> None:
    cluster = ConnectorCluster({"releases": 0})
    await cluster.found("a")
    await cluster.create(tasks=4)
    await cluster.node.run_woken()
    await cluster.register("b")

    assert await settled(cluster) == 0
    assert cluster.loads() == {"a": 4}


async def test_uneven_labels_come_to_rest(cluster: ConnectorCluster) -> None:
    await cluster.found()
    await cluster.register("a", disk="fast")
    await cluster.create("fast", tasks=6, labels={"disk": "fast"})
    await cluster.create("any", tasks=3)
    await cluster.node.run_woken()
    await cluster.register("b")

    assert await settled(cluster) == 3
    assert cluster.loads() == {"a": 6, "b": 3}
    proposed = len(cluster.node.proposals)
    await cluster.schedule()
    assert len(cluster.node.proposals) == proposed


async def test_paused_tasks_have_workers_too(cluster: ConnectorCluster) -> None:
    await cluster.found()
    await cluster.create()
    await cluster.aim(TARGET_PAUSED)
    await cluster.register("a")
    await cluster.node.run_woken()

    assert (cluster.task().worker, cluster.task().target) == ("a", TARGET_PAUSED)


async def test_a_restart_brings_a_failed_task_back_to_its_worker(
    cluster: ConnectorCluster,
) -> None:
    await cluster.found("ab")
    await cluster.create(tasks=2, failures=1)
    await cluster.node.run_woken()
    mine = cluster.task(1)
    assert (await cluster.report(mine, TASK_STATE_FAILED, "broken")).state == TASK_STATE_FAILED
    await cluster.node.run_woken()
    assert cluster.task(1).state == TASK_STATE_FAILED

    await cluster.node.propose(RestartTasks(tenant="acme", name="c", tasks=[1]), Connector)
    await cluster.node.run_woken()

    again = cluster.task(1)
    assert (again.state, again.worker, again.failures) == (TASK_STATE_ASSIGNED, mine.worker, 0)
    assert again.epoch > mine.epoch
    assert not differences(cluster.node)


async def test_small_batches_lead_to_the_same_end() -> None:
    cluster = ConnectorCluster({"batch": 3})
    await cluster.found("abc")
    await cluster.create(tasks=20)
    await cluster.node.run_woken()
    await cluster.unregister("a")
    await cluster.node.run_woken()
    await cluster.drain("b")
    await cluster.node.run_woken()

    assert sum(task.release_by_ms > 0 for task in cluster.tasks()) == 10
    await settled(cluster)
    assert cluster.loads() == {"c": 20}
    sizes = [
        len(each.assignments) for each in cluster.node.proposals if isinstance(each, AssignTasks)
    ]
    assert max(sizes) == 3


@pytest.mark.parametrize("way", ["assign", "reclaim", "drain"])
async def test_batches_are_under_way_side_by_side(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = ConnectorCluster({"batch": 3})
    await cluster.found("ab" if way != "assign" else "")
    await cluster.create(tasks=60)
    await cluster.schedule()
    if way == "assign":
        await cluster.register("a")
    elif way == "reclaim":
        await cluster.unregister("a")
    else:
        await cluster.drain("a")
    propose, under_way, most = cluster.node.propose, 0, 0

    async def slow(*args: Any, **options: Any) -> Any:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        for _ in range(20):
            await asyncio.sleep(0)
        under_way -= 1
        return await propose(*args, **options)

    monkeypatch.setattr(cluster.node, "propose", slow)
    await cluster.schedule()

    assert most == AT_A_TIME
    assert not differences(cluster.node)


async def test_a_batch_that_fails_ends_the_run_and_the_other_batches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = ConnectorCluster({"batch": 3})
    await cluster.found("a")
    await cluster.create(tasks=60)
    begun, ended = 0, 0

    async def failing(*args: Any, **options: Any) -> Any:
        nonlocal begun, ended
        begun += 1
        if begun == 2:
            raise Rejected("NOT_LEADER", "another one leads")
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            ended += 1

    monkeypatch.setattr(cluster.node, "propose", failing)
    with pytest.raises(Rejected, match="NOT_LEADER"):
        await cluster.schedule()

    assert (begun, ended) == (AT_A_TIME, AT_A_TIME - 1)


async def test_other_labels_move_the_tasks_of_a_connector(cluster: ConnectorCluster) -> None:
    await cluster.found("a")
    await cluster.register("b", disk="fast")
    await cluster.create(tasks=2)
    await cluster.node.run_woken()
    command = UpdateConnectorRequest(
        tenant="acme", name="c", definition=cluster.definition(2, labels={"disk": "fast"})
    )
    await cluster.node.propose(command, Connector)
    assert not differences(cluster.node)
    await cluster.node.run_woken()

    assert cluster.loads() == {"b": 2}
    assert not differences(cluster.node)


async def test_what_the_scheduler_saw_must_still_hold(cluster: ConnectorCluster) -> None:
    await cluster.found("ab")
    await cluster.create(tasks=2)
    first, second = cluster.tasks()
    await cluster.schedule()
    given, other = cluster.tasks()
    commands = [
        AssignTasks(
            assignments=[
                Assignment(
                    task=first.id,
                    expected_epoch=first.epoch,
                    worker="b",
                    worker_epoch=cluster.epoch("b"),
                ),
                Assignment(
                    task=second.id,
                    expected_epoch=other.epoch,
                    worker="b",
                    worker_epoch=cluster.epoch("b"),
                ),
            ]
        ),
        ReleaseTasks(releases=[Release(task=first.id, expected_epoch=first.epoch)]),
        ReclaimTasks(
            reclaims=[
                Reclaim(task=given.id, expected_epoch=given.epoch),
                Reclaim(task=other.id, expected_epoch=second.epoch),
            ]
        ),
    ]

    for command in commands:
        reply = await cluster.node.propose(command, BatchReply)
        assert {each.code for each in reply.refusals} == {"TASK_CHANGED"}
        assert len(reply.refusals) == reply.items

    assert cluster.tasks() == [given, other]


async def test_a_batch_looks_at_each_worker_and_writes_each_tally_once(
    cluster: ConnectorCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    await cluster.found("ab")
    await cluster.create(tasks=20)
    assignments = [
        Assignment(
            task=task.id, expected_epoch=task.epoch, worker=name, worker_epoch=cluster.epoch(name)
        )
        for task, name in zip(cluster.tasks(), "ab" * 10, strict=True)
    ]
    touched: Counter[str] = Counter()
    for name in ("get", "put", "delete"):
        monkeypatch.setattr(ShardTxn, name, noting(touched, getattr(ShardTxn, name)))

    reply = await cluster.node.propose(AssignTasks(assignments=assignments), BatchReply)

    assert not reply.refusals
    # As many for twenty tasks as for two: of each worker that it stands, its row, and again to
    # count on it; and of two states, of those that wait, and of what the two have.
    assert touched[BROKERS] == 2
    assert touched[WORKERS] <= 2 * 4
    assert touched[TALLIES] == 2 * 5
    assert not differences(cluster.node)


@pytest.mark.parametrize("why", ["gone", "replaced", "drained", "silent"])
async def test_nobody_gets_a_task_who_cannot_have_it_any_more(
    cluster: ConnectorCluster, why: str
) -> None:
    await cluster.found("a")
    epoch = cluster.epoch("a")
    await cluster.beat("a")
    if why == "gone":
        await cluster.unregister("a")
    elif why == "replaced":
        await cluster.register("a")
    elif why == "drained":
        await cluster.drain("a")
    else:
        await cluster.node.advance(10_000)
    await cluster.create()
    task = cluster.task()
    assignment = Assignment(task=task.id, expected_epoch=task.epoch, worker="a", worker_epoch=epoch)

    reply = await cluster.node.propose(AssignTasks(assignments=[assignment]), BatchReply)

    assert [each.code for each in reply.refusals] == ["WORKER_UNAVAILABLE"]
    assert cluster.task().state == TASK_STATE_UNASSIGNED


async def test_the_scheduler_tells_what_it_did(cluster: ConnectorCluster) -> None:
    await cluster.found("ab")
    await cluster.create(tasks=4)
    await cluster.node.run_woken()
    await cluster.unregister("b")
    await cluster.node.run_woken()
    await cluster.drain("a")
    await cluster.node.run_woken()

    told = cluster.node.metrics
    assert told["quorate_connector_assigned_total"] == 6
    assert told["quorate_connector_reclaimed_total"] == 2
    assert told["quorate_connector_released_total"] == 4
    assert told['quorate_connector_tasks{state="assigned"}'] == 4
    assert told['quorate_connector_tasks{state="failed"}'] == 0
    assert told["quorate_connector_workers"] == 0
