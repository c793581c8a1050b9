from __future__ import annotations

from typing import Any

from quorate.cli.status import ClusterView, view_of
from quorate.cli.statuses import Silent, Status
from quorate.observe.thresholds import FOLLOWER_LAG
from quorate.v1.admin_pb2 import (
    ControllerReport,
    FollowerReport,
    NodeAddress,
    NodeStatusResponse,
    ReplicaReport,
    ShardPlace,
    TopologyResponse,
)

TOPOLOGY = TopologyResponse(
    cluster_id=b"\x01\x02",
    nodes=[NodeAddress(node=f"n{number}", address=f"h:{number}") for number in (1, 2, 3)],
    shards=[ShardPlace(group="metadata", nodes=["n1", "n2", "n3"], leader="n9", term=1)],
)


def replica(role: str, term: int, applied: int, **more: Any) -> ReplicaReport:
    return ReplicaReport(
        shard="metadata/0",
        role=role,
        term=term,
        applied_index=applied,
        commit_index=applied,
        commands_applied=applied,
        **more,
    )


def status(*shards: ReplicaReport, **more: Any) -> NodeStatusResponse:
    given = {"ready": True, "version": "1", "http_address": "h:9", **more}
    return NodeStatusResponse(shards=shards, **given)


def view(*statuses: Status, at_s: float = 10.0, before: ClusterView | None = None) -> ClusterView:
    named = dict(zip(("n1", "n2", "n3"), statuses, strict=True))
    return view_of(TOPOLOGY, named, at_s=at_s, before=before)


def test_a_silent_node_is_shown_and_its_lag_is_unknown() -> None:
    leader = replica("leader", 4, 20, followers=[FollowerReport(node="n3", match_index=5)])

    seen = view(status(leader), status(replica("follower", 4, 18)), Silent("refused"))

    assert [row["state"] for row in seen.rows["nodes"]] == [
        "ready",
        "ready",
        "does not answer: refused",
    ]
    assert [row["leads"] for row in seen.rows["nodes"]] == [1, 0, None]
    [shard] = seen.rows["shards"]
    assert (shard["leader"], shard["term"], shard["commit"]) == ("n1", 4, 20)
    assert shard["lag"] == {"n2": 2, "n3": None}


def test_of_two_that_say_they_lead_the_later_term_counts() -> None:
    seen = view(
        status(replica("leader", 4, 20)),
        status(replica("leader", 5, 19)),
        status(replica("follower", 5, 19)),
    )

    assert seen.rows["shards"][0]["leader"] == "n2"
    assert seen.rows["shards"][0]["lag"] == {"n1": 0, "n3": 0}


def test_without_a_leader_nothing_is_guessed() -> None:
    seen = view(Silent("a"), Silent("b"), status(replica("candidate", 8, 19)))

    [shard] = seen.rows["shards"]
    assert (shard["leader"], shard["commit"], shard["lag"], shard["term"]) == (None, None, {}, 8)
    alarm = seen.rows["alarms"][0]
    assert str(alarm["alarm"]).startswith("no node that answers leads metadata/0: it accepts no")


def test_a_shard_that_opens_when_it_is_asked_for_is_no_alarm_while_most_nodes_answer() -> None:
    unopened = status(unopened=["metadata/0"])

    seen = view(unopened, replica_less := status(), Silent("gone"))
    assert [row["node"] for row in seen.rows["alarms"]] == ["n3"]
    assert [row["hosts"] for row in seen.rows["nodes"]] == [1, 0, None]

    alarm, *_ = view(unopened, Silent("gone"), Silent("gone")).rows["alarms"]
    assert str(alarm["alarm"]).startswith("no node that answers leads metadata/0")
    alarm, *_ = view(replica_less, replica_less, Silent("gone")).rows["alarms"]
    assert str(alarm["alarm"]).startswith("no node that answers leads metadata/0")


def test_a_lag_that_nobody_knows_is_unknown() -> None:
    seen = view(status(replica("leader", 4, 20)), status(), Silent("gone"))

    assert seen.rows["shards"][0]["lag"] == {"n2": None, "n3": None}
    [_, (_, [shard]), _] = seen.tables()
    assert shard["lag"] == ["n2 ?", "n3 ?"]


def test_rates_are_those_of_the_leader_since_the_view_before() -> None:
    first = view(status(replica("leader", 4, 20)), status(), status())
    second = view(status(replica("leader", 4, 50)), status(), status(), at_s=12.0, before=first)

    assert first.rows["shards"][0]["commands_per_s"] is None
    assert second.rows["shards"][0]["commands_per_s"] == 15.0


def test_a_node_that_began_anew_has_no_rate_yet() -> None:
    first = view(status(replica("leader", 4, 20)), status(), status())
    second = view(status(replica("leader", 4, 3)), status(), status(), at_s=12.0, before=first)

    assert second.rows["shards"][0]["commands_per_s"] is None


def test_a_node_that_is_gone_or_not_ready_is_an_alarm_and_its_lag_unknown() -> None:
    leader = replica("leader", 4, 20)
    leader.followers.add(node="n3", match_index=20)
    seen = view(status(leader), status(ready=False), Silent("gone"))

    assert [(row["node"], str(row["alarm"]).partition(".")[0]) for row in seen.rows["alarms"]] == [
        ("n2", "not ready"),
        ("n3", "does not answer: gone; 1 of 1 shards lack a replica"),
    ]
    assert seen.rows["shards"][0]["lag"] == {"n2": None, "n3": None}


def test_alarms_are_what_nodes_say() -> None:
    seen = view(
        status(replica("leader", 4, 20), alarms=["clocks differ"]),
        status(alarms=["shard toy/0 has stopped"]),
        status(),
    )

    assert seen.rows["alarms"] == [
        {"node": "n1", "alarm": "clocks differ"},
        {"node": "n2", "alarm": "shard toy/0 has stopped"},
    ]


def test_a_replica_that_has_stopped_leads_nothing() -> None:
    seen = view(status(replica("leader", 4, 20, stopped="the disk is full")), status(), status())

    assert seen.rows["shards"][0]["leader"] is None


def test_what_is_empty_has_no_table() -> None:
    seen = view(
        status(controllers=[ControllerReport(name="a.b", shard="metadata/0", state="waiting")]),
        status(replica("leader", 4, 20)),
        status(),
    )

    assert [title for title, _ in seen.tables()] == ["nodes", "shards", "controllers"]
    assert seen.rows["controllers"][0]["node"] == "n1"


def test_a_follower_that_is_far_behind_is_an_alarm() -> None:
    seen = view(
        status(replica("leader", 4, FOLLOWER_LAG + 20)),
        status(replica("follower", 4, 19)),
        status(replica("follower", 4, 20)),
    )

    [alarm] = seen.rows["alarms"]
    assert alarm["node"] == "n2"
    assert str(alarm["alarm"]).startswith(f"its replica of metadata/0 lags by {FOLLOWER_LAG + 1} e")
