from asyncio import run

import pytest
from google.protobuf.empty_pb2 import Empty
from quorate.plugin import Invalid
from quorate.testing import MemoryNode
from quorate_spark.loads import SERVICE, LoadService
from quorate_spark.v1.commands_pb2 import BeginLoadCommand, ReportPartitionCommand
from quorate_spark.v1.rows_pb2 import Load
from quorate_spark.v1.service_pb2 import GetLoadRequest, ListLoadsRequest


@pytest.fixture
def node() -> MemoryNode:
    node = MemoryNode(["spark"], at_ms=1_000)
    for load_id in ("b", "a", "ab"):
        run(node.propose(BeginLoadCommand(load_id=load_id, table="kv.pairs"), Load))
    for partition, finished in ((1, False), (0, True)):
        report = ReportPartitionCommand(
            load_id="a",
            partition=partition,
            rows=5,
            bad_rows=1,
            batches=2,
            row_bytes=50,
            finished=finished,
        )
        run(node.propose(report, Empty))
    return node


@pytest.fixture
def service(node: MemoryNode) -> LoadService:
    servicer = node.servicer(SERVICE.full_name)
    assert isinstance(servicer, LoadService)
    return servicer


def test_a_load_is_told_with_its_parts_and_their_sums(service: LoadService) -> None:
    view = run(service.GetLoad(GetLoadRequest(load_id="a"), None)).load

    assert (view.load.table, view.rows, view.bad_rows, view.batches) == ("kv.pairs", 10, 2, 4)
    assert (view.row_bytes, view.partitions, view.partitions_finished) == (100, 2, 1)
    assert [each.partition for each in view.parts] == [0, 1]


def test_a_load_that_is_not_there(service: LoadService) -> None:
    assert not run(service.GetLoad(GetLoadRequest(load_id="c"), None)).HasField("load")


@pytest.mark.parametrize("size", [1, 2, 3, 0, 5_000])
def test_pages_hold_every_load_once_and_in_order(service: LoadService, size: int) -> None:
    listed, token = [], ""
    for _ in range(5):
        page = run(service.ListLoads(ListLoadsRequest(page_size=size, page_token=token), None))
        listed += [(each.load.load_id, each.rows, len(each.parts)) for each in page.loads]
        token = page.next_page_token
        if not token:
            break

    assert listed == [("a", 10, 0), ("ab", 0, 0), ("b", 0, 0)]
    assert token == ""


@pytest.mark.parametrize(
    ("command", "field"),
    [
        (BeginLoadCommand(table="kv.pairs"), "load_id"),
        (BeginLoadCommand(load_id=" ", table="kv.pairs"), "load_id"),
        (BeginLoadCommand(load_id="x" * 201, table="kv.pairs"), "load_id"),
        (BeginLoadCommand(load_id="x"), "table"),
        (ReportPartitionCommand(), "load_id"),
    ],
)
def test_what_names_no_load_is_refused(
    node: MemoryNode, command: BeginLoadCommand | ReportPartitionCommand, field: str
) -> None:
    with pytest.raises(Invalid) as refused:
        run(node.propose(command, Load))

    assert refused.value.field == field
