from __future__ import annotations

from quorate.cli.dev.looks import Look, alarms, carried, changes
from quorate.cli.statuses import Silent, Status
from quorate.v1.admin_pb2 import BrokenReplica, NodeStatusResponse, ReplicaReport


def status(*led: str, term: int = 1, ready: bool = True, alarmed: tuple[str, ...] = ()) -> Status:
    shards = [ReplicaReport(shard=shard, role="leader", term=term) for shard in led]
    shards.append(ReplicaReport(shard="other/0", role="follower", term=9))
    return NodeStatusResponse(ready=ready, shards=shards, alarms=alarmed)


def look(**statuses: Status) -> Look:
    return Look.at(statuses)


def told(before: Look, now: Look) -> list[str]:
    return [event.sentence for event in changes(before, now)]


def test_nothing_new_is_nothing_told() -> None:
    now = look(n1=status("a/0"), n2=status())

    assert told(now, now) == []


def test_a_new_leader_is_told() -> None:
    assert told(
        look(n1=status("a/0"), n2=status("b/0")), look(n1=status(), n2=status("a/0", "b/0", term=2))
    ) == ["a/0 is led by n2 (term 2)", "b/0 is led by n2 (term 2)"]


def test_of_two_that_say_they_lead_the_later_term_counts() -> None:
    now = look(n1=status("a/0", term=3), n2=status("a/0", term=2))

    assert now.led_by("n1") == ["a/0"]
    assert now.led_by("n2") == []


def test_a_leader_that_is_away_for_a_moment_is_not_told_twice() -> None:
    before = look(n1=status("a/0"), n2=status())
    without = carried(before, look(n1=status(), n2=status()))

    assert told(before, without) == []
    assert told(without, look(n1=status("a/0"), n2=status())) == []


def test_silence_and_its_end_are_told() -> None:
    well = look(n1=status(), n2=status())
    ill = look(n1=status(), n2=Silent("refused"))

    assert told(well, ill) == ["n2 does not answer: refused"]
    assert told(ill, well) == ["n2 answers again"]


def test_an_alarm_is_told_when_it_begins() -> None:
    well, ill = look(n1=status()), look(n1=status(alarmed=("clocks differ",)))

    assert told(well, ill) == ["n1: clocks differ"]
    assert told(ill, ill) == told(ill, well) == []


def test_a_cluster_is_ready_when_every_node_says_so() -> None:
    assert look(n1=status(), n2=status()).ready
    assert not look(n1=status(), n2=status(ready=False)).ready
    assert not look(n1=status(), n2=Silent("refused")).ready


def test_a_replica_that_stopped_is_an_alarm_and_not_waited_for() -> None:
    alarm = "shard a/0 has stopped"
    shards = [ReplicaReport(shard="a/0", role="leader", stopped="damaged")]
    stopped = NodeStatusResponse(ready=False, shards=shards, alarms=[alarm])
    unopened = NodeStatusResponse(broken=[BrokenReplica(shard="a/0", error="damaged")])
    now = look(n1=stopped, n2=unopened)

    assert now.ready
    assert now.led_by("n1") == []
    assert [event.sentence for event in alarms(None, now)] == [f"n1: {alarm}"]


def test_every_event_has_parts_for_programs() -> None:
    before = look(n1=status(), n2=status(), n3=Silent("x"))
    now = look(n1=status("a/0", alarmed=("hot",)), n2=Silent("x"), n3=status())

    assert [event.parts for event in changes(before, now)] == [
        {"event": "silent", "node": "n2", "reason": "x"},
        {"event": "answering", "node": "n3"},
        {"event": "leader", "shard": "a/0", "node": "n1", "term": 1},
        {"event": "alarm", "node": "n1", "alarm": "hot"},
    ]
