from __future__ import annotations

import shutil
import signal
from pathlib import Path

import pytest
from quorate.testing.replica_process.cluster import Cluster, Process, Writer
from quorate.testing.waiting import until


@pytest.mark.short
def test_killed_leaders_take_nothing_along_that_was_acknowledged(tmp_path: Path) -> None:
    with Cluster(tmp_path) as cluster:
        with Writer(cluster) as writer:
            for _ in range(3):
                writer.goes_on()
                leader = cluster.leader()
                leader.kill()
                writer.goes_on()
                leader.start()
        assert set(writer.acknowledged) <= set(cluster.read())


@pytest.mark.short
def test_a_leader_acknowledges_nothing_that_it_holds_alone(tmp_path: Path) -> None:
    with Cluster(tmp_path) as cluster:
        leader, followers = cluster.leader(), cluster.followers()
        for follower in followers:
            follower.send_signal(signal.SIGSTOP)
        answer = leader.ask("Note", b"alone", timeout_s=1.0)
        assert answer["outcome"] in {"unreachable", "unknown"}
        for follower in followers:
            follower.send_signal(signal.SIGCONT)
        cluster.note(b"together")
        assert "together" in cluster.read()


def test_a_leader_that_was_asleep_leads_no_more_when_it_wakes_up(tmp_path: Path) -> None:
    with Cluster(tmp_path) as cluster:
        with Writer(cluster) as writer:
            writer.goes_on()
            asleep = cluster.leader()
            asleep.send_signal(signal.SIGSTOP)
            writer.goes_on()
            asleep.send_signal(signal.SIGCONT)
            until(lambda: _agreed_leader(cluster))
            writer.goes_on()
        assert _agreed_leader(cluster)
        assert set(writer.acknowledged) <= set(cluster.read())


def test_a_cluster_that_was_killed_as_a_whole_comes_back_with_everything(tmp_path: Path) -> None:
    with Cluster(tmp_path) as cluster:
        with Writer(cluster) as writer:
            writer.goes_on(100)
            for process in cluster.processes.values():
                process.kill()
            for process in cluster.processes.values():
                process.start()
            writer.goes_on()
        assert set(writer.acknowledged) <= set(cluster.read())


@pytest.mark.short
def test_a_node_whose_disk_was_emptied_is_refused_and_the_others_go_on(tmp_path: Path) -> None:
    with Cluster(tmp_path) as cluster:
        with Writer(cluster) as writer:
            writer.goes_on()
            emptied = cluster.followers()[0]
            emptied.kill()
            shutil.rmtree(emptied.settings.directory)
            emptied.start()
            assert emptied.wait() == 1
            writer.goes_on()
        *_, error = emptied.said.splitlines()
        assert f"this directory of {emptied.node} is new to it" in error
        assert "quorate member replace" in error
        assert set(writer.acknowledged) <= set(cluster.read())


def test_a_process_stops_when_it_is_told_to(tmp_path: Path) -> None:
    with Cluster(tmp_path) as cluster:
        cluster.note(b"something")
        for process in cluster.processes.values():
            assert process.stop() == 0, process.said
            assert process.said == ""


def _agreed_leader(cluster: Cluster) -> Process | None:
    """The process that all name as leader, in one term."""
    statuses = [process.status() for process in cluster.processes.values()]
    if any(status["outcome"] != "status" for status in statuses):
        return None
    leaders = [status["me"][0] for status in statuses if status["role"] == "leader"]
    named = {(status["term"], (status["leader"] or [""])[0]) for status in statuses}
    if len(leaders) != 1 or len(named) != 1:
        return None
    return cluster.processes[leaders[0]]
