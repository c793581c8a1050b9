from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from quorate.testing.replica_process.cluster import Cluster, Process, Writer
from quorate.testing.waiting import until

Members = list[dict[str, Any]]


def test_a_node_joins_and_the_leader_leaves_under_load(tmp_path: Path) -> None:
    with Cluster(tmp_path, later=["d"]) as cluster:
        with Writer(cluster) as writer:
            writer.goes_on()
            old = cluster.leader()
            initial = _members(cluster)
            newcomer = cluster.processes["d"]
            newcomer.start()
            status = until(lambda: _status_of(cluster, "d"))
            learner = {"node": "d", "replica": status["me"][1], "voter": False}
            _change(cluster, [*initial, learner])
            _change(cluster, [*initial, learner | {"voter": True}])
            writer.goes_on()

            until(lambda: _leads_or_is_asked_to(newcomer, cluster))
            writer.goes_on()
            stay = [member for member in initial if member["node"] != old.node]
            _change(cluster, [*stay, learner | {"voter": True}])
            old.kill()
            writer.goes_on()
        assert {member["node"] for member in _members(cluster)} == {"a", "b", "c", "d"} - {old.node}
        assert set(writer.acknowledged) <= set(cluster.read())


def test_a_node_whose_disk_was_lost_comes_back_as_a_new_member(tmp_path: Path) -> None:
    with Cluster(tmp_path) as cluster:
        with Writer(cluster) as writer:
            writer.goes_on()
            lost = cluster.followers()[0]
            initial = _members(cluster)
            lost.kill()
            stay = [member for member in initial if member["node"] != lost.node]
            _change(cluster, stay)
            cluster.empty(lost.node).start()
            status = until(lambda: _status_of(cluster, lost.node))
            learner = {"node": lost.node, "replica": status["me"][1], "voter": False}
            assert learner["replica"] not in {member["replica"] for member in initial}
            _change(cluster, [*stay, learner])
            _change(cluster, [*stay, learner | {"voter": True}])
            writer.goes_on()
        assert set(writer.acknowledged) <= set(cluster.read())


def _leads_or_is_asked_to(process: Process, cluster: Cluster) -> bool | None:
    """Whether a process leads; a transfer ends without it when it does not catch up in time."""
    if process.status().get("role") == "leader":
        return True
    cluster.leader().ask("Transfer", process.node.encode())
    return None


def _status_of(cluster: Cluster, node: str) -> dict[str, Any] | None:
    status = cluster.processes[node].status()
    return status if status["outcome"] == "status" else None


def _members(cluster: Cluster) -> Members:
    members = cluster.leader().status()["configuration"]["members"]
    return [
        {"node": each["peer"][0], "replica": each["peer"][1], "voter": each["voter"]}
        for each in members
    ]


def _change(cluster: Cluster, members: Members) -> None:
    """Change the membership as soon as the leader lets it."""

    def attempt() -> bool | None:
        answer = cluster.leader().ask("ChangeMembership", json.dumps(members).encode())
        return answer["outcome"] == "applied" or None

    until(attempt)
