"""A command that is repeated through every fault is carried out once."""

from __future__ import annotations

import random
import signal
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest
from quorate.consensus.timing import Timing
from quorate.testing.replica_process.cluster import Cluster
from quorate.testing.replica_process.domain import COUNTERS, counter_key
from quorate.testing.replica_process.sessions import Session, SessionWriter
from quorate.testing.replica_process.v1.domain_pb2 import Add, Counter, Note
from quorate.testing.waiting import until

CLIENTS = 5
QUICK = Timing(heartbeat_s=0.05, election_min_s=0.25, election_max_s=0.5)


@pytest.mark.parametrize(
    ("increments", "faults"), [pytest.param(1_000, 2, marks=pytest.mark.short), (10_000, 12)]
)
def test_a_counter_has_exactly_what_was_added_to_it(
    tmp_path: Path, increments: int, faults: int
) -> None:
    rng = random.Random(increments)
    share = increments // CLIENTS
    with Cluster(tmp_path, timing=QUICK) as cluster, ExitStack() as stack:
        cluster.leader()
        writers = [
            stack.enter_context(
                SessionWriter(cluster, iter([Add(counter="n", amount=1)] * share), at_once=20)
            )
            for _ in range(CLIENTS)
        ]

        def reached(wanted: int) -> bool | None:
            ended = [writer.ended for writer in writers]
            done = sum(len(writer.answered) for writer in writers)
            return all(ended) or done >= wanted or None

        for number in range(1, faults + 1):
            until(partial(reached, number * increments // (faults + 2)))
            rng.choice([kill_the_leader, stop_the_leader, hand_over, kill_a_follower])(cluster)
        until(lambda: reached(increments))
        for writer in writers:
            until(partial(has_ended, writer))
        assert {tuple(answer["refusal"] or ()) for w in writers for _, answer in w.answered} == {()}
        assert total(cluster) == increments


def test_a_command_of_an_expired_session_is_refused_and_not_applied(tmp_path: Path) -> None:
    with Cluster(tmp_path, nodes=["a"], timing=QUICK) as cluster:
        leader = cluster.leader()
        session = Session(cluster, ttl_ms=100)
        session.carry_out(Add(counter="n", amount=1))
        begun = leader.status()["now_ms"]

        def expire() -> bool | None:
            cluster.note(b"time goes on")
            return leader.status()["now_ms"] > begun + 200 or None

        until(expire)
        (answer,) = session.carry_out(Add(counter="n", amount=1))
        code, advice = answer["refusal"]
        assert code == "SESSION_EXPIRED"
        assert "session" in advice
        assert total(cluster) == 1


@pytest.mark.short
def test_an_answer_is_remembered_by_whoever_leads_next(tmp_path: Path) -> None:
    with Cluster(tmp_path, timing=QUICK) as cluster:
        cluster.leader()
        session = Session(cluster)
        adds = [Add(counter="n", amount=amount) for amount in (1, 2, 3)]
        answers = session.carry_out(*adds)
        kill_the_leader(cluster)
        again = session.repeat(cluster.leader(), *adds)
        assert [answer["results"] for answer in again] == [[answer] for answer in answers]
        session.carry_out(Note(name=b"goes on"))
        assert total(cluster) == 6


def has_ended(writer: SessionWriter[Add]) -> bool | None:
    return writer.ended or None


def total(cluster: Cluster) -> int:
    value = cluster.leader().get(COUNTERS, counter_key("n"))
    return Counter.FromString(value or b"").total


def kill_the_leader(cluster: Cluster) -> None:
    leader = cluster.leader()
    leader.kill()
    cluster.leader()
    leader.start()


def stop_the_leader(cluster: Cluster) -> None:
    leader = cluster.leader()
    leader.send_signal(signal.SIGSTOP)
    until(lambda: another_leads(cluster, leader.node))
    leader.send_signal(signal.SIGCONT)


def kill_a_follower(cluster: Cluster) -> None:
    follower = cluster.followers()[0]
    follower.kill()
    follower.start()


def hand_over(cluster: Cluster) -> None:
    leader = cluster.leader()
    leader.ask("Transfer", cluster.followers()[0].node.encode())


def another_leads(cluster: Cluster, node: str) -> bool | None:
    others = [process for process in cluster.processes.values() if process.node != node]
    return any(process.status().get("role") == "leader" for process in others) or None
