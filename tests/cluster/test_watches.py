"""A watch that breaks off goes on at another node, with nothing lost and nothing twice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from quorate.consensus.timing import Timing
from quorate.testing.replica_process.cluster import Answer, Cluster, Process
from quorate.testing.replica_process.sessions import Session
from quorate.testing.replica_process.v1.domain_pb2 import Item, PutItems, RemoveItems
from quorate.testing.waiting import until

QUICK = Timing(heartbeat_s=0.05, election_min_s=0.25, election_max_s=0.5)


@pytest.mark.short
def test_a_token_of_one_node_is_good_at_every_other(tmp_path: Path) -> None:
    with Cluster(tmp_path, timing=QUICK) as cluster:
        leader, other = cluster.leader(), cluster.followers()[0]
        session = Session(cluster)
        put(session, b"a", b"1")
        put(session, b"b", b"2")
        listed = watch(leader, "", 2)
        assert changes(listed) == [(b"a", b"1"), (b"b", b"2")]
        session.carry_out(RemoveItems(keys=[b"a"]))
        put(session, b"c", b"3")
        seen = watch(leader, listed["token"], 1)
        assert changes(seen)[0] == (b"a", None)
        leader.kill()
        put(session, b"b", b"4")
        rest = until(lambda: all_of(other, seen["token"], 3 - len(changes(seen))))
        behind = changes(seen) + changes(rest)
        assert behind == [(b"a", None), (b"c", b"3"), (b"b", b"4")]
        assert watch(other, rest["token"], 1)["outcome"] == "nothing more"
        # A list that is made there ends at the same rows.
        assert changes(watch(other, "", 2)) == [(b"b", b"4"), (b"c", b"3")]


def put(session: Session, key: bytes, content: bytes) -> None:
    session.carry_out(PutItems(items=[Item(key=key, content=content)]))


def watch(process: Process, token: str, events: int) -> Answer:
    asked = {"token": token, "events": events}
    return process.ask("Watch", json.dumps(asked).encode())


def all_of(process: Process, token: str, events: int) -> Answer | None:
    """What came behind a token, once it is so many events."""
    answer = watch(process, token, events)
    return answer if len(answer.get("events", ())) >= events else None


def changes(answer: Answer) -> list[tuple[bytes, bytes | None]]:
    assert answer["outcome"] in ("read", "nothing more"), answer
    return [
        (bytes.fromhex(key), None if value is None else bytes.fromhex(value))
        for key, value, _ in answer["events"]
    ]
