"""Commands that do harm cost their caller an error, and nobody else anything."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from quorate.apply.entries import LoggedCommand
from quorate.consensus.timing import Timing
from quorate.testing.replica_process.cluster import Cluster, Writer
from quorate.testing.replica_process.domain import COUNTERS, ITEMS, MARKS, counter_key
from quorate.testing.replica_process.logged import logged
from quorate.testing.replica_process.v1.domain_pb2 import (
    Add,
    Counter,
    Deviate,
    Fail,
    Item,
    Note,
    StoreItems,
)
from quorate.testing.waiting import until

QUICK = Timing(heartbeat_s=0.05, election_min_s=0.25, election_max_s=0.5)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with Cluster(tmp_path, timing=QUICK) as running:
        yield running


@pytest.mark.short
def test_what_breaks_costs_its_caller_an_error_and_nobody_else_anything(cluster: Cluster) -> None:
    item = Item(key=b"a", content=b"content")
    broken = {
        "a handler that raises": logged(Fail()),
        "a payload that does not parse": LoggedCommand(Add.DESCRIPTOR.full_name, b"\xff" * 9),
        "an item that breaks a batch": logged(StoreItems(items=[item, Item(), item])),
    }
    leader = cluster.leader()
    good = logged(Add(counter="n", amount=1))
    for name, command in broken.items():
        # They share an entry: what is before and behind the broken one is applied.
        results = leader.propose(good, command, good)["results"]
        assert [result["refusal"] is None for result in results] == [True, False, True], name
        code, advice = results[1]["refusal"]
        assert code in ("INTERNAL", "INVALID_ARGUMENT"), name
        assert command.type in advice, name
        assert results[1]["reply"] == ""
    value = leader.get(COUNTERS, counter_key("n"))
    assert Counter.FromString(value or b"").total == 2 * len(broken)
    assert leader.get(MARKS, b"broken") is None
    assert leader.ask("Scan", b'{"limit": 10, "family": "%s"}' % ITEMS.encode())["rows"] == 0
    assert len(set(cluster.digests().values())) == 1
    for process in cluster.processes.values():
        assert process.runs
    # The operator of each node is told where it was.
    for process in cluster.processes.values():
        assert Fail.DESCRIPTOR.full_name in process.said
        assert "broken on purpose" in process.said


def test_broken_commands_stay_harmless_when_the_log_is_applied_again(cluster: Cluster) -> None:
    leader = cluster.leader()
    leader.propose(logged(Fail()), LoggedCommand(Note.DESCRIPTOR.full_name, b"\xff" * 9))
    cluster.note(b"behind them")
    for process in cluster.processes.values():
        process.kill()
    for process in cluster.processes.values():
        process.start()
    cluster.note(b"after")
    assert cluster.read() == ["behind them", "after"]
    assert len(set(cluster.digests().values())) == 1


@pytest.mark.short
def test_a_replica_that_applies_otherwise_stops_and_the_others_go_on(tmp_path: Path) -> None:
    with Cluster(tmp_path, timing=QUICK, deviants=["c"]) as cluster:
        until(lambda: not_led_by(cluster, "c"))
        with Writer(cluster) as writer:
            writer.goes_on()
            cluster.propose(logged(Deviate()))
            assert cluster.processes["c"].wait() == 1
            writer.goes_on()
            *_, error = cluster.processes["c"].said.splitlines()
            assert error.startswith("error: ")
            assert "checksum" in error
            assert "quorate member replace" in error
        assert [node for node, each in cluster.processes.items() if each.runs] == ["a", "b"]
        assert set(writer.acknowledged) <= set(cluster.read())
        assert len(set(cluster.digests().values())) == 1


@pytest.mark.short
def test_a_command_that_no_plugin_knows_stops_whoever_applies_it(tmp_path: Path) -> None:
    # Alone: of several, who stops first takes along the news that the entry is committed.
    with Cluster(tmp_path, nodes=["a"], timing=QUICK) as cluster:
        process = cluster.leader()
        answer = process.propose(LoggedCommand("newer.v1.Unheard", b""))
        assert answer["outcome"] in ("unknown", "unreachable")
        for _ in range(2):
            assert process.wait() == 1
            *_, error = process.said.splitlines()
            assert error.startswith("error: ")
            assert "newer.v1.Unheard" in error
            # It stays in the log: a start without the plugin ends in the same way.
            process.start()


def not_led_by(cluster: Cluster, node: str) -> bool | None:
    leader = cluster.leader()
    if leader.node != node:
        return True
    leader.ask("Transfer", cluster.followers()[0].node.encode())
    return None
