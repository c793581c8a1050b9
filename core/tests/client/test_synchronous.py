"""The client without await, against nodes in a loop of their own thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from quorate.client import (
    AsyncClient,
    Blocking,
    Client,
    ClosedError,
    InvalidError,
    OtherClusterError,
    RejectedError,
    blocking,
)
from quorate.client.twins import LoopThread
from quorate.plugin import Rejected
from quorate.v1.command_pb2 import Command, CommandAnswer
from quorate.v1.kv_pb2 import GetPairRequest, GetPairResponse, PutPair, PutPairReply
from quorate.v1.watch_pb2 import WatchEvent, WatchResponse

if TYPE_CHECKING:
    from core.tests.client.conftest import FakeCluster


@pytest.fixture
def thread() -> LoopThread:
    return LoopThread()


@pytest.fixture
def served(fake_cluster: type[FakeCluster], thread: LoopThread) -> Iterator[FakeCluster]:
    """The nodes, whose loop is not the client's."""
    cluster = fake_cluster()

    async def start() -> None:
        for node in cluster.nodes.values():
            await node.start()

    async def stop() -> None:
        for node in cluster.nodes.values():
            await node.stop()

    thread.run(start())
    yield cluster
    thread.close(stop)


@pytest.fixture
def q(served: FakeCluster) -> Iterator[Client]:
    with Client(served.endpoints) as q:
        yield q


def test_calls_wait_for_their_answers_and_raise_what_goes_wrong(
    served: FakeCluster, q: Client
) -> None:
    def answer(command: Command) -> CommandAnswer:
        if PutPair.FromString(command.payload).value == b"bad":
            return served.failing(Rejected("NO", "not this one"))
        return served.reply(PutPairReply(revision=7))

    served.nodes["n1"].answer = answer
    assert q.kv.put(served.first, b"good").revision == 7
    assert q.execute(PutPair(key=served.first), PutPairReply).revision == 7
    with pytest.raises(RejectedError, match="not this one"):
        q.kv.put(served.first, b"bad")
    q.at("n3").call("/quorate.v1.KvService/Get", GetPairRequest(key=b"a"), GetPairResponse)
    assert len(served.nodes["n3"].asked) == 1
    assert len(q.topology().nodes) == 3


def test_messages_of_other_calls_are_refused(served: FakeCluster, q: Client) -> None:
    with pytest.raises(InvalidError, match=r"is answered with quorate\.v1\.PutPairReply, not with"):
        q.execute(PutPair(key=served.first), GetPairResponse)
    with pytest.raises(
        InvalidError, match=r"takes quorate\.v1\.GetPairRequest, not quorate\.v1\.Put"
    ):
        q.call("/quorate.v1.KvService/Get", PutPair(key=served.first), GetPairResponse)
    assert not any(node.commands for node in served.nodes.values())


def test_threads_share_calls(served: FakeCluster, q: Client) -> None:
    with ThreadPoolExecutor(20) as pool:
        puts = list(pool.map(lambda _: q.kv.put(served.first, b""), range(200)))
    assert len(puts) == 200
    assert len(served.nodes["n1"].commands) == 200


def test_named_sessions_number_what_they_carry_out(served: FakeCluster, q: Client) -> None:
    session = q.sessions.open("metadata", served.second, "load")
    answer = session.execute(PutPair(key=served.second), 7, lowest_unanswered=5)
    assert PutPairReply.FromString(answer.payload).revision == 7
    assert q.sessions.seal("metadata", served.second, "load") == [3, 5]
    q.sessions.close("metadata", served.second, "load")

    node = served.nodes["n2"]
    [sent], [sealed], [closed] = node.commands, node.sealed, node.closed
    assert (sent.stamp.session, sent.stamp.sequence, sent.stamp.lowest_unanswered) == (
        session.number,
        7,
        5,
    )
    assert (sealed.name, closed.shard_key) == ("load", served.second)
    assert [each.name for each in node.opened] == ["load", "load"]


def test_a_watch_is_a_plain_iterator(served: FakeCluster, q: Client) -> None:
    event = WatchEvent(kind=WatchEvent.ROW, name="t.rows", key=b"a")
    for node in served.nodes.values():
        node.watches = [[WatchResponse(events=[event], token=b"t")]]
    changes = q.watch("t.rows")
    assert next(changes).key == b"a"
    changes.close()  # type: ignore[attr-defined]


def test_it_can_be_closed_while_other_threads_wait(served: FakeCluster) -> None:
    asked = threading.Event()

    async def before(context: object) -> None:
        asked.set()
        await asyncio.Event().wait()

    served.nodes["n1"].before = before
    q = Client(served.endpoints)
    with ThreadPoolExecutor(2) as pool:
        put = pool.submit(q.kv.put, served.first, b"")
        watch = pool.submit(lambda: next(q.watch("t.rows")))
        assert asked.wait(10)
        q.close()
        for each in (put, watch):
            with pytest.raises(ClosedError):
                each.result(10)
    with pytest.raises(ClosedError):
        q.kv.put(served.first, b"")
    q.close()


async def test_it_works_in_a_thread_that_runs_a_loop(served: FakeCluster, q: Client) -> None:
    assert q.kv.get(served.first) is None


def test_its_own_thread_cannot_wait_for_itself(q: Client) -> None:
    async def within() -> Any:
        return q.kv.get(b"a")

    with pytest.raises(RuntimeError, match="use AsyncClient"):
        q.thread.run(within())


class Puts:
    """A plugin's helper."""

    def __init__(self, q: AsyncClient) -> None:
        self._q = q

    async def put(self, key: bytes, *, value: bytes = b"") -> int:
        """Write a pair."""
        return (await self._q.kv.put(key, value)).revision


class SyncPuts(Blocking[Puts]):
    """Its twin."""

    put = blocking(Puts.put)


def test_a_twin_has_the_methods_of_its_helper(served: FakeCluster, q: Client) -> None:
    revision: int = SyncPuts(q.thread, Puts(q.asynchronous)).put(served.first, value=b"v")
    assert revision == 7
    assert SyncPuts.put.__doc__ == "Write a pair."
    [sent] = served.nodes["n1"].commands
    assert PutPair.FromString(sent.payload).value == b"v"


def test_another_cluster_than_it_met_first_is_refused(
    served: FakeCluster, q: Client, thread: LoopThread
) -> None:
    q.kv.put(served.first, b"x")

    async def found_anew() -> None:
        for node in served.nodes.values():
            await node.stop()
            node.told = served.told()
            node.told.cluster_id = b"other"
            await node.start()

    thread.run(found_anew())
    with pytest.raises(OtherClusterError, match="make another client"):
        q.kv.put(served.first, b"x", timeout_s=0.5)
