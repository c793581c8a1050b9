"""Whatever moment a process is killed at, all that it holds afterwards tells the same story."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from itertools import count
from pathlib import Path

import pytest
from quorate.consensus.timing import Timing
from quorate.testing.replica_process.cluster import Answer, Cluster, Process
from quorate.testing.replica_process.sessions import Session, SessionWriter
from quorate.testing.replica_process.v1.domain_pb2 import Work
from quorate.testing.waiting import until

QUICK = Timing(heartbeat_s=0.02, election_min_s=0.05, election_max_s=0.1)
CLIENTS = 4
#: Of a batch that puts items and removes those of an earlier one.
ITEMS = 50
KEPT_WORKS = 5


def works(client: int) -> Iterator[Work]:
    for number in count(1):
        removes = max(0, number - KEPT_WORKS)
        yield Work(client=client, number=number, items=ITEMS, removes=removes)


@pytest.mark.parametrize(
    ("seed", "kills"), [pytest.param(0, 3, marks=pytest.mark.short), (1, 24), (2, 23)]
)
def test_what_a_killed_process_holds_agrees_with_itself_and_with_what_it_answered(
    tmp_path: Path, seed: int, kills: int
) -> None:
    rng = random.Random(seed)
    with ExitStack() as stack:
        cluster = Cluster(tmp_path, nodes=["a"], timing=QUICK, tail_entries=200)
        stack.enter_context(cluster)
        process = cluster.leader()
        witness, numbers = Session(cluster), works(CLIENTS + 1)
        writers = [
            stack.enter_context(SessionWriter(cluster, works(client), at_once=3))
            for client in range(1, CLIENTS + 1)
        ]
        for _ in range(kills):
            command = next(numbers)
            (answer,) = witness.carry_out(command)
            wanted = answered(writers) + rng.randrange(60)
            until(partial(has_answered, writers, wanted))
            promised = [list(writer.answered) for writer in writers]
            process.kill()
            process.start()
            holds = audit(process)
            assert holds["found"] == []
            for acknowledged in promised:
                for work, told in acknowledged:
                    assert told["refusal"] is None
                    assert told["revision"] <= holds["revision"]
                    assert work.number in holds["works"][str(work.client)]
            (again,) = witness.repeat(cluster.leader(), command)
            assert again["results"] == [answer]


def answered(writers: list[SessionWriter[Work]]) -> int:
    return sum(len(writer.answered) for writer in writers if not writer.ended)


def has_answered(writers: list[SessionWriter[Work]], wanted: int) -> bool | None:
    return answered(writers) >= wanted or None


def audit(process: Process) -> Answer:
    """What the process says of itself as soon as it says anything."""

    def ask() -> Answer | None:
        answer = process.ask("Audit")
        return answer if answer["outcome"] == "audit" else None

    holds = until(ask)
    for client, numbers in holds["works"].items():
        holds["works"][client] = set(numbers)
    return holds
