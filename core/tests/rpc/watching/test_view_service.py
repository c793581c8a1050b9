"""Views over real connections: what is read in parts is what was there when they were opened."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from itertools import pairwise
from struct import iter_unpack
from typing import TYPE_CHECKING, Any, cast

import grpc
import grpc.aio
import pytest
from quorate.plugin import Caller, Rejected
from quorate.plugin.advanced import Stub
from quorate.rpc import callers
from quorate.shards.refusals import ExhaustedError, ReadTimeoutError
from quorate.shards.watching import views
from quorate.shards.watching.views import HeldView
from quorate.v1 import view_pb2
from quorate.v1.view_pb2 import (
    CloseViewRequest,
    OpenViewRequest,
    OpenViewResponse,
    ReadViewRequest,
)

if TYPE_CHECKING:
    from core.tests.rpc.watching.conftest import Node
    from core.tests.written_replica import Replica

ROWS = "toy.rows"


@pytest.fixture
def replica(nodes: dict[str, Node], replicas: tuple[Replica, Replica]) -> Replica:
    """The second shard's, on node a."""
    nodes["a"].replicas[replicas[1].id] = replicas[1]
    return replicas[1]


@pytest.fixture
async def stub(nodes: dict[str, Node]) -> AsyncIterator[Any]:
    async with grpc.aio.insecure_channel(nodes["a"].address) as channel:
        yield Stub(channel, view_pb2.DESCRIPTOR.services_by_name["ViewService"])


async def opened(stub: Any, ttl_ms: int = 0) -> OpenViewResponse:
    request = OpenViewRequest(family=ROWS, shard=1, ttl_ms=ttl_ms)
    answer: OpenViewResponse = await stub.Open(request, timeout=10)
    return answer


async def read(
    stub: Any, view: str, start: bytes = b"", end: bytes = b"", limit: int = 0
) -> list[tuple[bytes, bytes, int]]:
    request = ReadViewRequest(view=view, start=start, end=end, limit=limit)
    return [
        (row.key, row.value, row.revision)
        async for page in stub.Read(request, timeout=10)
        for row in page.rows
    ]


async def refused(call: Any) -> str:
    with pytest.raises(grpc.aio.AioRpcError) as failed:
        await call
    return f"{failed.value.code().name}: {failed.value.details()}"


async def test_ranges_are_read_as_they_were_when_the_view_was_opened(
    stub: Any, replica: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "PAGE_ROWS", 3)
    before = [(b"k%02d" % number, b"v%d" % number, number + 1 << 20) for number in range(20)]
    for key, value, _ in before:
        replica.put(key, value)
    view = await opened(stub)
    for key, _, _ in before[::2]:
        replica.apply([(ROWS, key, None)])
    replica.put(b"k99", b"later")

    assert (view.first, view.last, view.revision >> 20) == (b"k00", b"k19", 20)
    assert view.estimated_rows == 20
    assert replica.barriers == 1
    halves = [await read(stub, view.view, b"k10"), await read(stub, view.view, b"", b"k10")]
    assert halves == [before[10:], before[:10]]
    # Read again, and by two at a time.
    ones, others = await asyncio.gather(read(stub, view.view), read(stub, view.view, b"k05"))
    assert (ones, others) == (before, before[5:])
    assert await read(stub, view.view, b"k05", limit=4) == before[5:9]
    assert await read(stub, view.view, b"k05", limit=3) == before[5:8]
    assert not await read(stub, view.view, b"k20")


async def test_a_page_ends_with_the_row_that_fills_it(
    stub: Any, replica: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "PAGE_BYTES", 100)
    for number in range(4):
        replica.put(b"%d" % number, bytes(80))
    view = await opened(stub)

    pages = [
        [row.key for row in page.rows]
        async for page in stub.Read(ReadViewRequest(view=view.view), timeout=10)
    ]

    assert pages == [[b"0", b"1"], [b"2", b"3"]]


async def test_packed_rows_are_the_same_rows(
    stub: Any, replica: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "PACKED_ROWS", 3)
    for number in range(10):
        replica.put(b"k%02d" % number, b"v" * number)
    view = await opened(stub)
    rows = await read(stub, view.view, b"k01", b"k09")

    async def packed(**options: Any) -> tuple[list[int], list[bytes], list[bytes]]:
        request = ReadViewRequest(view=view.view, start=b"k01", end=b"k09", packed=True, **options)
        sizes: list[int] = []
        parts: tuple[list[bytes], list[bytes]] = ([], [])
        async for page in stub.Read(request, timeout=10):
            given = (
                (page.packed.keys, page.packed.key_ends),
                (page.packed.rows, page.packed.row_ends),
            )
            for into, (joined, packed_ends) in zip(parts, given, strict=True):
                ends = [end for (end,) in iter_unpack("<I", packed_ends)]
                into += [joined[a:b] for a, b in pairwise([0, *ends])]
            sizes.append(len(page.packed.key_ends) // 4)
        return sizes, *parts

    sizes, keys, stored = await packed()
    assert sizes == [3, 3, 2]
    assert [
        (key, row[8:], int.from_bytes(row[:8])) for key, row in zip(keys, stored, strict=True)
    ] == rows
    assert await packed(limit=4) == ([3, 1], keys[:4], stored[:4])
    assert await packed(keys_only=True) == ([3, 3, 2], keys, [])


async def test_rows_that_a_split_left_behind_are_in_no_page(stub: Any, replica: Replica) -> None:
    for number in range(6):
        replica.put(b"k%d" % number, b"v")
    replica.owns = lambda key: key in (b"k1", b"k2", b"k4")
    view = await opened(stub)
    request = ReadViewRequest(view=view.view, packed=True)

    assert [key for key, _, _ in await read(stub, view.view)] == [b"k1", b"k2", b"k4"]
    assert [page.packed.keys async for page in stub.Read(request, timeout=10)] == [b"k1k2k4"]


async def test_a_view_without_rows(stub: Any, replica: Replica) -> None:
    view = await opened(stub)
    replica.put(b"later")

    assert not view.HasField("first")
    assert not view.HasField("last")
    assert not await read(stub, view.view)


async def test_a_view_that_nobody_reads_is_let_go_of(
    stub: Any, replica: Replica, nodes: dict[str, Node]
) -> None:
    replica.put(b"k")
    kept, dropped = await opened(stub), await opened(stub, ttl_ms=1)
    async with asyncio.timeout(10):
        # Looking at it without reading keeps no view open.
        while dropped.view in nodes["a"].views._held:
            await asyncio.sleep(0)

    assert "cannot be read any more" in await refused(read(stub, dropped.view))
    assert len(await read(stub, kept.view)) == 1


async def test_a_closed_view_is_gone_and_makes_room(stub: Any, replica: Replica) -> None:
    replica.put(b"k")
    held = [await opened(stub) for _ in range(3)]
    told = await refused(opened(stub))
    assert told.startswith("RESOURCE_EXHAUSTED: this node holds 3 views already")

    await stub.Close(CloseViewRequest(view=held[0].view), timeout=10)
    await stub.Close(CloseViewRequest(view=held[0].view), timeout=10)

    assert "cannot be read any more" in await refused(read(stub, held[0].view))
    assert len(await read(stub, (await opened(stub)).view)) == 1


async def test_a_view_counts_while_it_is_waited_for(
    nodes: dict[str, Node], replica: Replica
) -> None:
    held, of_replica = nodes["a"].views, cast("Any", replica)
    replica.barrier = asyncio.get_running_loop().create_future()
    opening = [asyncio.create_task(held.open(of_replica, ROWS, 60.0, 5.0)) for _ in range(5)]
    await asyncio.sleep(0)
    replica.barrier.set_result(None)
    found = await asyncio.gather(*opening, return_exceptions=True)
    assert [type(each) for each in found] == [HeldView] * 3 + [ExhaustedError] * 2

    for each in found[:3]:
        assert isinstance(each, HeldView)
        held.close(each.name)
    replica.barrier_error = ReadTimeoutError("the shard has no leader")
    for _ in range(4):
        with pytest.raises(ReadTimeoutError):
            await held.open(of_replica, ROWS, 60.0, 5.0)


async def test_a_view_is_of_who_opened_it_for_as_long_as_they_may_read(
    nodes: dict[str, Node], replica: Replica
) -> None:
    replica.put(b"k")
    node = nodes["a"]
    held: Any = replica
    view = await node.views.open(held, ROWS, 60.0, 5.0, opener="ada")

    def read_by(name: str) -> str:
        callers.begin(Caller(name=name))
        try:
            node.view_service._page(ReadViewRequest(view=view.name), b"", None, None)
        except Rejected as refusal:
            return refusal.code
        return ""

    assert [read_by(each) for each in ("ada", "eve", "")] == ["", views.GONE, views.GONE]
    node.views.close(view.name, "eve")
    assert read_by("ada") == ""
    node.view_service._readable = lambda _: object()
    assert read_by("ada") == "PERMISSION_DENIED"


async def test_a_view_ends_with_its_database(stub: Any, replica: Replica) -> None:
    replica.put(b"k")
    view = await opened(stub)
    replica.replaced()

    assert "open another one" in await refused(read(stub, view.view))


@pytest.mark.parametrize(
    ("request_", "told"),
    [
        (OpenViewRequest(family="toy.gone", shard=1), "no column family"),
        (OpenViewRequest(family="toy.index", shard=1), "is private"),
        (OpenViewRequest(family=ROWS, shard=1, ttl_ms=3_600_001), "at most 3600000"),
        (OpenViewRequest(family=ROWS, shard=0), "no replica of shard toy/0"),
        (OpenViewRequest(family=ROWS, shard=7), "no replica of shard toy/7"),
    ],
)
async def test_what_cannot_be_viewed(
    stub: Any, replica: Replica, request_: OpenViewRequest, told: str
) -> None:
    assert told in await refused(stub.Open(request_, timeout=10))


async def test_no_view_without_what_was_written_before(stub: Any, replica: Replica) -> None:
    replica.barrier_error = ReadTimeoutError("the shard has no leader")

    assert "the shard has no leader" in await refused(opened(stub))
