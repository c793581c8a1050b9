import pytest
from google.protobuf.empty_pb2 import Empty
from quorate.plugin import Invalid, Rejected
from quorate.testing import MemoryTxn
from quorate.v1.batch_pb2 import BatchReply
from quorate_connector.families import CURSORS, task_key
from quorate_connector.tasks import lifecycle
from quorate_connector.v1.connectors_pb2 import Connector, DeleteConnector
from quorate_connector.v1.tasks_pb2 import (
    TASK_STATE_FAILED,
    Cursor,
    GetCursorRequest,
    StoreCursor,
    StoreCursors,
    Task,
    TaskId,
)

from tests.support.connector.fleet import ConnectorCluster


async def given(cluster: ConnectorCluster) -> Task:
    await cluster.found(("a", "b"))
    await cluster.create(failures=9)
    await cluster.schedule()
    return cluster.task()


async def test_a_cursor_replaces_the_one_that_is_known(cluster: ConnectorCluster) -> None:
    task = await given(cluster)

    first = await cluster.store(task, b"1")
    second = await cluster.store(task, b"2", expected_version=1)

    assert (first.version, first.epoch) == (1, task.epoch)
    assert cluster.cursor() == second
    assert (second.value, second.version) == (b"2", 2)


@pytest.mark.parametrize("expected", [0, 2])
async def test_another_cursor_than_expected_is_a_conflict(
    cluster: ConnectorCluster, expected: int
) -> None:
    task = await given(cluster)
    await cluster.store(task, b"1")

    with pytest.raises(Rejected) as refused:
        await cluster.store(task, b"2", expected_version=expected)

    assert refused.value.code == "CURSOR_CONFLICT"
    assert "has version 1" in refused.value.message
    kept = cluster.cursor()
    assert kept is not None
    assert kept.value == b"1"


async def test_the_next_worker_goes_on_and_the_one_before_cannot(cluster: ConnectorCluster) -> None:
    before = await given(cluster)
    await cluster.store(before, b"1")
    await cluster.unregister(before.worker)
    await cluster.schedule()
    after = cluster.task()
    assert after.worker == "b"

    with pytest.raises(Rejected) as refused:
        await cluster.store(before, b"2", expected_version=1)
    assert refused.value.code == "FENCED"

    taken = await cluster.store(after, b"2", expected_version=1)
    assert taken.epoch == after.epoch > before.epoch


async def test_the_same_worker_needs_its_new_epoch(cluster: ConnectorCluster) -> None:
    before = await given(cluster)
    await cluster.report(before, TASK_STATE_FAILED)
    await cluster.node.advance(1_000)
    await cluster.schedule()
    assert cluster.task().worker == before.worker

    with pytest.raises(Rejected, match="FENCED"):
        await cluster.store(before, b"late")


async def test_a_batch_answers_each_cursor_in_its_place(cluster: ConnectorCluster) -> None:
    await cluster.found("a")
    await cluster.create(tasks=2)
    await cluster.schedule()
    tasks = cluster.tasks()
    cursors = [
        StoreCursor(
            task=task.id,
            worker_epoch=task.worker_epoch,
            epoch=task.epoch,
            expected_version=number,
            value=b"v",
        )
        for number, task in enumerate(tasks)
    ]

    reply = await cluster.node.propose(StoreCursors(cursors=cursors), BatchReply)

    assert [(each.item, each.code) for each in reply.refusals] == [(1, "CURSOR_CONFLICT")]
    assert Cursor.FromString(reply.replies[0]) == cluster.cursor(0)
    assert cluster.cursor(1) is None


async def test_a_wrong_cursor_does_not_hide_the_others(cluster: ConnectorCluster) -> None:
    await cluster.found("a")
    await cluster.create(tasks=3)
    await cluster.schedule()
    cursors = [
        StoreCursor(
            task=task.id,
            worker_epoch=task.worker_epoch,
            epoch=task.epoch,
            expected_version=number // 2,
            value=b"v" * (65_537 if number == 0 else 1),
        )
        for number, task in enumerate(cluster.tasks())
    ]
    servicer = cluster.node.servicer("quorate_connector.v1.TaskService")

    reply = await servicer.StoreCursorBatch(StoreCursors(cursors=cursors), None)

    assert reply.items == 3
    assert [(each.item, each.code) for each in reply.refusals] == [
        (0, "INVALID_ARGUMENT"),
        (2, "CURSOR_CONFLICT"),
    ]
    assert "cursors[0].value" in reply.refusals[0].message
    assert Cursor.FromString(reply.replies[1]) == cluster.cursor(1)
    alone = await servicer.StoreCursorBatch(StoreCursors(cursors=cursors[:1]), None)
    assert [each.code for each in alone.refusals] == ["INVALID_ARGUMENT"]


async def test_a_connector_created_again_begins_from_nothing(cluster: ConnectorCluster) -> None:
    before = await given(cluster)
    await cluster.store(before, b"1")
    await cluster.node.propose(DeleteConnector(tenant="acme", name="c"), Empty)
    assert cluster.cursor() is None
    await cluster.create()
    await cluster.schedule()
    again = cluster.task()

    assert again.worker == before.worker
    assert again.epoch > before.epoch
    with pytest.raises(Rejected, match="FENCED"):
        await cluster.store(before, b"2")


async def test_a_cursor_that_is_too_large_is_refused(cluster: ConnectorCluster) -> None:
    task = await given(cluster)

    with pytest.raises(Invalid, match="65536"):
        await cluster.store(task, b"v" * 65_537)
    assert len((await cluster.store(task, b"v" * 65_536)).value) == 65_536


async def test_the_service_reads_a_cursor(cluster: ConnectorCluster) -> None:
    task = await given(cluster)
    servicer = cluster.node.servicer("quorate_connector.v1.TaskService")
    with pytest.raises(Rejected, match="NOT_FOUND"):
        await servicer.GetCursor(GetCursorRequest(task=task.id), None)

    stored = await cluster.store(task, b"1")

    assert await servicer.GetCursor(GetCursorRequest(task=task.id), None) == stored
    with pytest.raises(Invalid):
        await servicer.GetCursor(GetCursorRequest(task=TaskId(tenant="acme")), None)


def test_what_lifecycle_tells_of_progress() -> None:
    connector = Connector(tenant="acme", name="c")
    txn = MemoryTxn(rows={CURSORS: {task_key("acme", "c", number): b"" for number in (1, 4)}})

    assert lifecycle.progressed(txn, connector, range(5)) == [1, 4]
    assert lifecycle.progressed(txn, connector, range(2, 4)) == []
    lifecycle.forget_progress(txn, connector, range(2))
    assert lifecycle.progressed(txn, connector, range(5)) == [4]
