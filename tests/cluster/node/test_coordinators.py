"""Keys keep their coordinators while those live, and get others when they die."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack, aclosing
from pathlib import Path
from typing import Final

import pytest
from quorate.builtin.cluster.coordinators.resource import COORDINATOR
from quorate.cli.main import main
from quorate.client import AsyncClient, RejectedError, connect
from quorate.testing.cluster import QUICK_ELECTIONS, Cluster
from quorate.testing.waiting import PATIENCE_S
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.coordinator_pb2 import AssignCoordinator, AssignCoordinators, Coordinator

SETTINGS: Final[Mapping[str, Mapping[str, object]]] = {"timing": QUICK_ELECTIONS}
#: Of the broker that dies, which sends no heartbeat, and of those that are not to.
SHORT_MS: Final = 6_000
LONG_MS: Final = 60_000
KEYS: Final = [f"group/{number}" for number in range(30)]
GET: Final = "/quorate.v1.CoordinatorService/Get"


@pytest.mark.parametrize(
    "dies",
    [
        pytest.param("the broker", marks=pytest.mark.ci),
        pytest.param("the broker and the leader", marks=pytest.mark.full),
    ],
)
async def test_keys_of_a_broker_that_dies_move(
    tmp_path: Path, dies: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with Cluster(tmp_path, settings=SETTINGS) as cluster:
        nodes = list(cluster.ready().nodes)
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(asyncio.timeout(2 * PATIENCE_S))
            # What the death of a leader leaves open is sent again.
            q = await stack.enter_async_context(connect(cluster.endpoints, exactly_once=True))
            for name in ("ada", "ben"):
                await stack.enter_async_context(
                    q.brokers.registered(name, "test", roles=["worker"], ttl_ms=LONG_MS)
                )
            dying = await q.brokers.register("dies", "test", roles=["worker"], ttl_ms=SHORT_MS)
            before = await coordinators(q)
            its = {key for key, row in before.items() if row.broker_epoch == dying.epoch}
            assert its
            assert its < set(KEYS)
            if "leader" in dies:
                leader = cluster.leader("metadata/0")
                leader.kill()
                nodes.remove(leader.name)

            # Nobody asks meanwhile: who watches hears of every key that moves.
            moved = await asyncio.wait_for(watched(q, its, dying.epoch), PATIENCE_S)

            after = await coordinators(q)
            assert {key for key in KEYS if after[key] != before[key]} == its
            assert {key: after[key] for key in its} == moved
            assert {row.broker for row in moved.values()} <= {"ada", "ben"}
            assert min(row.epoch for row in moved.values()) > max(
                row.epoch for row in before.values()
            )
            for node in nodes:
                request = AssignCoordinator(role="worker", key=KEYS[0])
                assert await q.at(node).call(GET, request, Coordinator) == after[KEYS[0]]
            # The one that is gone is told so when it comes back.
            with pytest.raises(RejectedError, match="NOT_FOUND"):
                await q.brokers.heartbeat("dies", dying.epoch)

            key = KEYS[0]
            group = ["cluster", "coordinator", "--endpoints", cluster.endpoints]
            asked = [*group, "get", "worker", key]
            assert await asyncio.to_thread(main, asked) == 0
            assert after[key].broker in capsys.readouterr().out
            assert await asyncio.to_thread(main, [*group, "release", "worker", key]) == 0
            left = [*group, "list", "worker", "--output", "json"]
            assert await asyncio.to_thread(main, left) == 0
            assert f'"{key}"' not in capsys.readouterr().out
            assert await asyncio.to_thread(main, [*asked, "--labels", "zone"]) == 2


async def coordinators(q: AsyncClient) -> dict[str, Coordinator]:
    """Return who coordinates each key."""
    wanted = [AssignCoordinator(role="worker", key=key) for key in KEYS]
    request = AssignCoordinators(coordinators=wanted)
    reply = await q.records(COORDINATOR).ask("GetBatch", request, BatchReply)
    assert not reply.refusals
    return {row.key: row for row in map(Coordinator.FromString, reply.replies)}


async def watched(q: AsyncClient, its: set[str], gone: int) -> dict[str, Coordinator]:
    """Return the rows of these keys once none of them is that of the registration any more."""
    rows: dict[str, Coordinator] = {}
    async with aclosing(q.watch("cluster.coordinators")) as changes:
        async for change in changes:
            row = Coordinator.FromString(change.value)
            if row.key in its and row.broker_epoch not in (0, gone):
                rows[row.key] = row
            if rows.keys() == its:
                return rows
    raise AssertionError("the watch has ended")
