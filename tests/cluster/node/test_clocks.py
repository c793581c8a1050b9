"""Clocks that are wrong: an alarm names them, and the log does so once."""

from __future__ import annotations

from pathlib import Path

import pytest
from quorate.client import Client
from quorate.testing.cluster import QUICK_ELECTIONS, Cluster, NodeProcess
from quorate.testing.waiting import until

pytestmark = pytest.mark.ci


def alarms(cluster: Cluster) -> list[str]:
    """Return the alarms about clocks that the leader tells."""
    report = cluster.leader().report()
    return [each for each in report.alarms if "clocks of the voters" in each] if report else []


@pytest.mark.parametrize("of_leader", [True, False], ids=["leader", "follower"])
def test_a_wrong_clock_is_an_alarm_and_a_log_line(tmp_path: Path, of_leader: bool) -> None:
    with Cluster(tmp_path, settings={"timing": QUICK_ELECTIONS}) as cluster:
        cluster.ready()
        wrong: NodeProcess = cluster.leader() if of_leader else cluster.followers()[0]
        wrong.shift_clock(60.0)
        with Client(cluster.endpoints, tls=cluster.tls) as client:

            def told() -> str | None:
                client.kv.put("a/b", b"")
                return next(
                    (each for each in alarms(cluster) if f"{wrong.name} is +" in each), None
                )

            assert "set the clock of each of them" in until(told)
            for _ in range(50):
                client.kv.put("a/b", b"")
            # Another one may lead by now.
            said = [
                [line for line in node.said.splitlines() if f"{wrong.name} is +" in line]
                for node in cluster.nodes.values()
            ]
            wrong.shift_clock(0.0)

            def over() -> bool | None:
                client.kv.put("a/b", b"")
                return None if alarms(cluster) else True

            until(over)
    # Each shard says it once, however often it uses the time.
    assert any(said)
    for lines in said:
        assert len(lines) == len({line.partition("shard ")[2].partition(":")[0] for line in lines})
