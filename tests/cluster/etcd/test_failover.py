"""Clients of etcd while leaders are killed and moved."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from quorate_etcd import errors
from quorate_etcd.wire import rpc_pb2 as rpc

from tests.support.etcd.ours import Ours, started
from tests.support.etcd.peers import Peer, Refused

pytestmark = [pytest.mark.ci, pytest.mark.timeout(300)]

_SHARD = "etcd/0"


@pytest.fixture
def ours(tmp_path: Path) -> Iterator[Ours]:
    with started(tmp_path / "ours", nodes=3) as nodes:
        yield nodes


class Counting:
    """Puts one key again and again at a node."""

    def __init__(self, port: int) -> None:
        self._peer = Peer(port)
        self._going = True
        self.done = 0
        self.doubtful: list[Refused] = []
        self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        while self._going:
            answer = await self._peer.call("kv", "Put", rpc.PutRequest(key=b"a"))
            if isinstance(answer, Refused):
                self.doubtful.append(answer)
            else:
                self.done += 1

    async def more(self, count: int) -> None:
        until = self.done + count
        async with asyncio.timeout(100):
            while self.done < until:
                await asyncio.sleep(0.01)

    async def end(self) -> int:
        """Stop; return the version of the key, which counts its puts."""
        self._going = False
        await self._task
        answer = await self._peer.call("kv", "Range", rpc.RangeRequest(key=b"a"))
        await self._peer.close()
        assert isinstance(answer, rpc.RangeResponse)
        return answer.kvs[0].version


async def test_a_leader_that_moves_costs_no_errors(ours: Ours) -> None:
    cluster = ours.cluster
    counting = Counting(ours.port)
    for _ in range(2):
        await counting.more(20)
        leader = cluster.leader(_SHARD)
        to = next(name for name in cluster.nodes if name != leader.name)
        await asyncio.to_thread(leader.transfer, _SHARD, to)
    await counting.more(20)
    assert await counting.end() == counting.done
    assert not counting.doubtful


async def test_a_leader_that_dies_costs_what_was_under_way(ours: Ours) -> None:
    """Nothing is written twice, and only what may have been written is refused."""
    cluster = ours.cluster
    leader = cluster.leader(_SHARD)
    [name, *_] = [name for name in cluster.nodes if name != leader.name]
    counting = Counting(ours.ports[name])
    await counting.more(20)
    leader.kill()
    await counting.more(20)
    version = await counting.end()
    assert counting.done <= version <= counting.done + len(counting.doubtful)
    assert len(counting.doubtful) <= 1
    assert set(counting.doubtful) <= {tuple(errors.TIMED_OUT_LEADER)}


async def test_who_requires_a_leader_is_told_that_there_is_none(ours: Ours) -> None:
    """The others wait, and go on where they were."""
    cluster = ours.cluster
    [name, *others] = cluster.nodes
    peer, required = Peer(ours.ports[name]), (("hasleader", "true"),)
    requiring, waiting = peer.watching(required), peer.watching()
    for each in (requiring, waiting):
        await each.send(create_request=rpc.WatchCreateRequest(key=b"a", watch_id=1))
        await each.until(lambda each=each: bool(each.of(1).said))  # type: ignore[misc]
    for other in others:
        cluster.nodes[other].kill()
    no_leader = Refused(*errors.NO_LEADER)
    assert await requiring.ended() == no_leader
    refused = await peer.call("kv", "Put", rpc.PutRequest(key=b"a"), required)
    assert refused == no_leader
    put = asyncio.create_task(peer.call("kv", "Put", rpc.PutRequest(key=b"a")))
    for other in others:
        cluster.nodes[other].start()
    while isinstance(answer := await put, Refused):
        # A busy machine takes longer than a call waits, and may lose a leader at once.
        late = errors.TIMED_OUT, errors.TIMED_OUT_LEADER, errors.LEADER_CHANGED
        assert answer in [Refused(*each) for each in late]
        put = asyncio.create_task(peer.call("kv", "Put", rpc.PutRequest(key=b"a")))
    await waiting.until(lambda: len(waiting.of(1).events) == 1)
    await peer.close()
