"""A follower whose entries are gone comes back by a snapshot, whatever happens meanwhile."""

from __future__ import annotations

import json
import random
import signal
from contextlib import ExitStack
from pathlib import Path

import pytest
from quorate.consensus.timing import Timing
from quorate.testing.replica_process.cluster import Cluster, Process, Writer
from quorate.testing.waiting import until
from quorate.testing.ways import Way, Ways

TAIL = 100
QUICK = Timing(heartbeat_s=0.05, election_min_s=0.25, election_max_s=0.5)
#: In the follower that is sent a snapshot, in the order in which it comes by.
RECEIVING = (
    "snapshot.offered",
    "snapshot.part_received",
    "snapshot.received",
    "snapshot.verified",
    "install.begun",
    "pointer.written",
    "pointer.renamed",
    "install.pointed",
    "install.swapped",
    "snapshot.installed",
    "snapshot.durable",
    "install.closed",
    "install.removed",
)
SENDING = (
    "snapshot.flushed",
    "snapshot.checkpointed",
    "snapshot.part_sent",
    "snapshot.sent",
)


@pytest.mark.parametrize("writes", [pytest.param(5_000, marks=pytest.mark.short), 200_000])
def test_a_follower_that_was_gone_comes_back_while_writes_go_on(
    tmp_path: Path, writes: int
) -> None:
    with Cluster(tmp_path, timing=QUICK, tail_entries=TAIL) as cluster:
        leader, gone = cluster.leader(), cluster.followers()[0]
        load(leader, 1_000)
        gone.kill()
        held = leader.status()["last"]
        load(leader, writes, in_flight=min(500, writes // 500))
        with Writer(cluster) as writer:
            gone.start()
            until(lambda: installed(gone) > held or None)
            writer.goes_on()
            until(lambda: follows(gone, cluster.leader()))
            writer.goes_on()
        digests = cluster.digests()
        assert len(digests) == 3
        assert len(set(digests.values())) == 1
        # Until the snapshot came it held rows that were removed meanwhile.
        assert rows(gone) == rows(cluster.leader())


def test_a_follower_that_dies_at_any_step_of_an_install_comes_back(tmp_path: Path) -> None:
    with Cluster(tmp_path, timing=QUICK, tail_entries=TAIL) as cluster:
        follower = cluster.followers()[0]
        for step in RECEIVING:
            die_at(step, cluster, follower)
            assert len(set(cluster.digests().values())) == 1, step


@pytest.mark.short
def test_a_follower_that_dies_while_it_installs_comes_back(tmp_path: Path) -> None:
    with Cluster(tmp_path, timing=QUICK, tail_entries=TAIL) as cluster:
        die_at("install.swapped", cluster, cluster.followers()[0])
        assert len(set(cluster.digests().values())) == 1


@pytest.mark.parametrize("step", SENDING)
def test_a_leader_that_dies_while_it_sends_is_followed_by_one_that_does(
    tmp_path: Path, step: str
) -> None:
    with Cluster(tmp_path, timing=QUICK, tail_entries=TAIL) as cluster:
        behind = cluster.followers()[0]
        senders = [process for process in cluster.processes.values() if process is not behind]
        fall_behind(behind, cluster)
        for process in senders:
            process.kill()
            process.failpoint = step
            process.start()
        behind.start()
        died = until(lambda: next((each for each in senders if not each.runs), None))
        assert died.wait() == -signal.SIGKILL
        for process in senders:
            if process.runs:
                process.kill()
            process.failpoint = ""
            process.start()
        until(lambda: follows(behind, cluster.leader()))
        assert installed(behind)
        assert len(set(cluster.digests().values())) == 1


@pytest.mark.parametrize("seed", [pytest.param(0, marks=pytest.mark.short), 1, 2])
def test_a_transfer_that_is_cut_at_any_byte_begins_anew(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    with ExitStack() as stack:
        opened, ways = stack.enter_context(Ways()), list[Way]()

        def way(node: str, address: str) -> str:
            if node != "c":
                return address
            ways.append(opened.to(address))
            return ways[-1].address

        cluster = stack.enter_context(Cluster(tmp_path, timing=QUICK, tail_entries=TAIL, ways=way))
        follower = cluster.processes["c"]
        until(lambda: not leads(follower, cluster) or None)
        load(cluster.leader(), 20_000, in_flight=100)
        fall_behind(follower, cluster)
        # A snapshot is larger: its rows alone take this.
        for each in ways:
            each.cut_after(rng.randrange(1_000, 1_000_000))
        follower.start()
        until(lambda: any(each.cuts for each in ways) or None)
        until(lambda: follows(follower, cluster.leader()))
        assert installed(follower)
        assert len(set(cluster.digests().values())) == 1


def die_at(step: str, cluster: Cluster, follower: Process) -> None:
    """Let a follower fall behind, die at a step of its install, and catch up."""
    before = installed(follower)
    fall_behind(follower, cluster)
    follower.failpoint = step
    follower.start()
    assert follower.wait() == -signal.SIGKILL, step
    follower.failpoint = ""
    follower.start()
    until(lambda: follows(follower, cluster.leader()))
    assert installed(follower) > before, step


def fall_behind(follower: Process, cluster: Cluster) -> None:
    """End a follower, and write until what it lacks is cut from every log."""
    held = follower.status()["last"]
    follower.kill()

    def write() -> bool | None:
        load(cluster.leader(), 1_000)
        cut = [each.status()["first"] for each in cluster.processes.values() if each.runs]
        return min(cut) > held + 1 or None

    until(write)


def load(process: Process, count: int, in_flight: int = 5) -> None:
    """Write rows, and replace and remove some of them."""
    asked = {"kind": "rows", "count": count, "in_flight": in_flight, "first": count}
    answer = process.ask("Load", json.dumps(asked).encode(), timeout_s=200)
    assert answer["outcome"] == "applied", answer


def rows(process: Process) -> int:
    answer = process.ask("Scan", json.dumps({"limit": 1_000_000}).encode())
    found: int = answer["rows"]
    return found


def installed(process: Process) -> int:
    """The index of the snapshot that its data began with; 0: none, or it does not answer."""
    return process.status().get("installed") or 0


def follows(process: Process, leader: Process) -> bool | None:
    behind: int = leader.status()["commit"]
    return process.status().get("applied", 0) >= behind or None


def leads(process: Process, cluster: Cluster) -> bool:
    """Whether a process leads; it is asked to hand over if it does."""
    leader = cluster.leader()
    if leader is process:
        process.ask("Transfer", cluster.followers()[0].node.encode())
    return leader is process
