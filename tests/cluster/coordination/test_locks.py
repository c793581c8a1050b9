"""Locks of real processes, while these and the nodes are killed and stopped, and clocks jump."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from random import Random
from time import monotonic, time
from typing import Any, Final

import pytest
from quorate.client import Client
from quorate.testing.cluster import Cluster
from quorate.testing.program import Program
from quorate.testing.waiting import until
from quorate_coordination.leases import LEASE
from quorate_coordination.v1 import leases_pb2 as pb

#: A node that stalls for a quarter of it, on a busy machine, ends no lease meanwhile.
TTL_S: Final = 4.0
WORKERS: Final = ("a", "b", "c")
#: Writes under the lock that must be let through between two faults.
PROGRESS: Final = 5
#: How far clocks jump: the nodes hold with one that is 5 s away.
JUMP_S: Final = 4.9
#: Holds the lock again and again, and says when it did, as every process of this machine sees it.
_WORKER: Final = """
import asyncio, json, sys
from time import monotonic
from quorate.client import QuorateError, RejectedError, connect
from quorate.testing.program import end_with_parent
from quorate_coordination.client import Coordination

end_with_parent()
endpoints, name, ttl_s = sys.argv[1], sys.argv[2], float(sys.argv[3])

def say(**fact):
    print(json.dumps(fact), flush=True)

async def work(q):
    async with Coordination(q).lock("jobs/nightly", owner=name, ttl_s=ttl_s) as held:
        say(held=held.token, at=monotonic())
        for _ in range(12):
            at = monotonic()
            if not held.lost:
                say(live=held.token, at=at)
            reply = await q.kv.put("jobs/last", name.encode(), fence=held, timeout_s=ttl_s)
            say(wrote=held.token, revision=reply.revision, at=monotonic())
            await asyncio.sleep(0.05)
    say(left=held.token, at=monotonic())

async def main():
    async with connect(endpoints) as q:
        while True:
            try:
                await work(q)
            except RejectedError as error:
                say(refused=error.code)
            except QuorateError as error:
                say(failed=type(error).__name__)

asyncio.run(main())
"""


class Worker:
    """A process that works under the lock whenever it holds it."""

    def __init__(self, cluster: Cluster, name: str, directory: Path) -> None:
        self.name: Final = name
        self.program: Final = Program(name, directory / f"worker-{name}.log")
        arguments = [cluster.endpoints, name, str(TTL_S)]
        self._command: Final = [sys.executable, "-c", _WORKER, *arguments]
        self.start()

    def start(self) -> None:
        """Start it, or start it again."""
        self.program.start(self._command, os.environ)

    def facts(self) -> list[dict[str, Any]]:
        """Return what it has said, in order."""
        # A line that a killed process did not end is none.
        whole = self.program.said.rpartition("\n")[0].splitlines()
        return [json.loads(line) for line in whole if line.startswith("{")]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with Cluster(tmp_path, plugins=["coordination"]) as cluster:
        yield cluster.ready()


@pytest.fixture
def workers(cluster: Cluster, tmp_path: Path) -> Iterator[list[Worker]]:
    with ExitStack() as ending:
        workers = [Worker(cluster, name, tmp_path) for name in WORKERS]
        for worker in workers:
            ending.callback(worker.program.close)
        yield workers


@pytest.mark.ci
def test_no_two_hold_a_lock_whatever_dies_or_stops(
    cluster: Cluster, workers: Sequence[Worker]
) -> None:
    progress(workers)

    stopped = holder(workers)
    stopped.program.send_signal(signal.SIGSTOP)
    progress([each for each in workers if each is not stopped])
    stopped.program.send_signal(signal.SIGCONT)
    progress(workers)

    free_s = free_after_kill(workers)

    leader = cluster.leader()
    leader.kill()
    progress(workers)
    leader.start()
    leader.ready()
    leader = cluster.leader()
    leader.pause()
    progress(workers)
    leader.resume()
    progress(workers)

    judge(workers)
    assert free_s <= TTL_S + 1


@pytest.mark.ci
def test_no_two_hold_a_lock_while_the_clock_of_the_leader_jumps(
    cluster: Cluster, workers: Sequence[Worker]
) -> None:
    with Client(cluster.endpoints, tls=cluster.tls) as client:
        client.records(LEASE).create(pb.Lease(name="jobs/clock", ttl_ms=60_000))

        def ahead() -> bool | None:
            # Another one may lead by now.
            cluster.leader().shift_clock(JUMP_S)
            renewal = pb.LeaseRenewal(name="jobs/clock")
            renewed = client.records(LEASE).do("Renew", renewal, pb.LeaseRenewed)
            return renewed.expires_at_ms / 1_000 - 60 - time() > JUMP_S - 1 or None

        progress(workers)
        holder(workers)
        # The time of the shard goes with it, and everybody who held goes on to.
        until(ahead)
        progress(workers)
    # Back, so that the lease of the dead seems to begin later than it is now.
    holder(workers)
    for node in cluster.nodes.values():
        node.shift_clock(0)
    free_s = free_after_kill(workers)
    progress(workers)

    judge(workers)
    assert free_s <= TTL_S + 1


@pytest.mark.full
@pytest.mark.parametrize("seed", range(3))
def test_no_two_hold_a_lock_while_clocks_jump_and_leaders_change(
    cluster: Cluster, workers: Sequence[Worker], seed: int
) -> None:
    rng = Random(seed)
    for _ in range(8):
        holder(workers)
        for node in cluster.nodes.values():
            if rng.random() < 0.6:
                node.shift_clock(rng.uniform(-JUMP_S, JUMP_S))
        if rng.random() < 0.5:
            leader = cluster.leader()
            leader.kill()
            progress(workers)
            leader.start()
            leader.ready()
        else:
            cluster.leader().transfer("metadata/0", rng.choice(cluster.followers()).name)
        progress(workers)
    judge(workers)


def progress(workers: Sequence[Worker]) -> None:
    """Wait until some of these have written under the lock a number of times."""
    before = len(written(workers))
    try:
        until(lambda: len(written(workers)) >= before + PROGRESS or None)
    except TimeoutError as error:
        last = "\n".join(f"{each.name}: {each.program.said[-500:]}" for each in workers)
        raise AssertionError(f"nobody gets on with the lock; they said last:\n{last}") from error


def written(workers: Sequence[Worker]) -> list[tuple[int, int, str]]:
    """Return the writes that were let through: revision, token and worker."""
    return [
        (fact["revision"], fact["wrote"], worker.name)
        for worker in workers
        for fact in worker.facts()
        if "wrote" in fact
    ]


def holder(workers: Sequence[Worker]) -> Worker:
    """Wait until one holds the lock, and return it."""

    def find() -> Worker | None:
        for worker in workers:
            facts = [fact for fact in worker.facts() if "at" in fact]
            if worker.program.runs and facts and "left" not in facts[-1]:
                return worker
        return None

    return until(find)


def free_after_kill(workers: Sequence[Worker]) -> float:
    """Kill the holder, and return how long nobody held the lock; it is started again."""
    killed = holder(workers)
    killed.program.end(signal.SIGKILL)
    died = monotonic()
    others = [each for each in workers if each is not killed]
    free_s = until(lambda: first_hold(others, after=died)) - died
    killed.start()
    print(f"\nfree {free_s:.2f} s after its holder was killed, with a time to live of {TTL_S:g} s")
    return free_s


def first_hold(workers: Sequence[Worker], *, after: float) -> float | None:
    """Return when the lock was held first after a time."""
    times = [
        fact["at"]
        for worker in workers
        for fact in worker.facts()
        if "held" in fact and fact["at"] > after
    ]
    return min(times, default=None)


def judge(workers: Sequence[Worker]) -> None:
    """Hold what the workers said against what locks promise."""
    newest = 0
    for _, wrote, name in sorted(written(workers)):
        assert wrote >= newest, f"{name} wrote with token {wrote} after {newest}"
        newest = wrote
    spans: dict[int, tuple[float, float, str]] = {}
    for worker in workers:
        for fact in worker.facts():
            token: int = fact.get("held") or fact.get("live") or 0
            if token:
                begin, _, owner = spans.get(token, (fact["at"], 0.0, worker.name))
                assert owner == worker.name, f"{owner} and {worker.name} had token {token}"
                spans[token] = (begin, fact["at"], owner)
    ordered = [spans[token] for token in sorted(spans)]
    for (_, end, before), (begin, _, after) in pairwise(ordered):
        assert end <= begin, f"{after} held the lock {end - begin:.3f} s before {before} knew"
