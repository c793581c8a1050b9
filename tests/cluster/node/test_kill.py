"""Whatever moment a node is killed at, all that it holds afterwards tells the same story."""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from pathlib import Path

import pytest
from quorate.client import AsyncClient, QuorateError, connect
from quorate.testing.cluster import Cluster
from quorate.testing.waiting import PATIENCE_S
from quorate.v1.kv_pb2 import DeletePair, PutPair, TouchPair

TIMING = {"heartbeat_ms": 20, "election_min_ms": 50, "election_max_ms": 100}
CLIENTS = 4
#: Of a work that puts pairs and deletes those of an earlier one.
PAIRS = 50
KEPT = 5


@pytest.mark.parametrize(
    ("seed", "kills"),
    [
        pytest.param(0, 3, marks=pytest.mark.ci),
        pytest.param(1, 24, marks=pytest.mark.full),
        pytest.param(2, 23, marks=pytest.mark.full),
    ],
)
@pytest.mark.timeout(900)
async def test_what_a_killed_node_holds_agrees_with_itself_and_with_what_it_answered(
    tmp_path: Path, seed: int, kills: int
) -> None:
    rng = random.Random(seed)
    settings = {"timing": TIMING, "storage": {"log_tail_entries": 200}}
    with Cluster(tmp_path, nodes=1, settings=settings) as cluster:
        cluster.ready()
        [node] = cluster.nodes.values()
        async with connect(cluster.endpoints, exactly_once=True, timeout_s=PATIENCE_S) as q:
            works = [Works(q, client) for client in range(CLIENTS)]
            for _ in range(kills):
                working = [asyncio.create_task(each.go_on()) for each in works]
                wanted = answered(works) + rng.randrange(1, 60)
                async with asyncio.timeout(PATIENCE_S):
                    while answered(works) < wanted:
                        await asyncio.sleep(0.001)
                promised = [each.answered for each in works]
                await asyncio.to_thread(node.kill)
                for task in working:
                    task.cancel()
                await asyncio.gather(*working, return_exceptions=True)
                node.start()
                await asyncio.to_thread(node.ready)
                judge(await held(q), promised, [each.sent for each in works])
                for each in works:
                    await each.settle()
            judge(await held(q), [each.answered for each in works], [each.sent for each in works])


class Works:
    """One client's: work `n` puts pairs of its own and deletes those of work `n - KEPT`."""

    def __init__(self, q: AsyncClient, client: int) -> None:
        self._q = q
        self._client = client
        self.sent = 0
        self.answered = 0

    async def go_on(self) -> None:
        """Work until cancelled."""
        while True:
            self.sent += 1
            await self._commit(self.sent)
            self.answered = self.sent

    async def settle(self) -> None:
        """Repeat the last work, whose answer did not come: it comes to the same."""
        if self.answered < self.sent:
            await self._commit(self.sent)
            self.answered = self.sent

    async def _commit(self, work: int) -> None:
        steps: list[PutPair | DeletePair | TouchPair] = [
            PutPair(key=self._key(work, pair), value=b"%d" % work) for pair in range(PAIRS)
        ]
        if work > KEPT:
            steps += [DeletePair(key=self._key(work - KEPT, pair)) for pair in range(PAIRS)]
        while True:
            try:
                await self._q.kv.commit(steps)
            except QuorateError:
                continue
            return

    def _key(self, work: int, pair: int) -> bytes:
        return b"work/%d/%08d/%02d" % (self._client, work, pair)


def answered(works: list[Works]) -> int:
    return sum(each.answered for each in works)


async def held(q: AsyncClient) -> dict[int, dict[int, int]]:
    """Return by client and work how many pairs there are."""
    found: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    async for pair in q.kv.list("work/"):
        _, client, work, _ = pair.key.split(b"/")
        assert pair.value == b"%d" % int(work)
        found[int(client)][int(work)] += 1
    return found


def judge(held: dict[int, dict[int, int]], promised: list[int], sent: list[int]) -> None:
    """Demand that each client's works are whole, without a gap, and end where they may."""
    for client, (least, most) in enumerate(zip(promised, sent, strict=True)):
        works = sorted(held[client])
        last = works[-1] if works else 0
        assert least <= last <= most
        assert works == list(range(max(1, last - KEPT + 1), last + 1))
        assert set(held[client].values()) <= {PAIRS}
