"""What operators ask and order: status, members, controllers, shards."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from quorate.cli import reshaping
from quorate.plugin import keys
from quorate.plugin.slots import even_cut, slot_of
from quorate.v1.admin_pb2 import (
    AddMemberRequest,
    CancelMergeRequest,
    ControllerReport,
    DrainNodeRequest,
    MeetMemberRequest,
    MeetMemberResponse,
    MemberProgress,
    MemberReport,
    MergeShardsRequest,
    MoveReplicaRequest,
    NodeStatusResponse,
    PauseControllerRequest,
    PlacedNode,
    PlacementResponse,
    PlannedMove,
    PurgedRows,
    PurgePluginRequest,
    RecoverShardRequest,
    RemoveMemberRequest,
    ReplicaReport,
    ResumeControllerRequest,
    TransferLeaderRequest,
)

if TYPE_CHECKING:
    from core.tests.cli.conftest import FakeNode, Run

STEPS = [
    MemberProgress(shard="metadata/0", step="learner", shards_total=1),
    MemberProgress(shard="metadata/0", step="voter", shards_done=1, shards_total=1),
]


def test_status_shows_every_node_those_that_are_silent_as_such(
    run: Run, node: FakeNode, nowhere: str
) -> None:
    node.know("node1", node2=nowhere)
    node.status = NodeStatusResponse(
        ready=True,
        version="1.2.3",
        shards=[ReplicaReport(shard="metadata/0", role="leader", term=3, commit_index=9)],
        alarms=["clocks differ"],
    )

    told = json.loads(run("status", "--output", "json").out)

    assert told["cluster"] == "abcd"
    states = {row["node"]: row["state"] for row in told["nodes"]}
    assert states["node1"] == "ready"
    assert states["node2"] == "does not answer: it cannot be reached"
    assert told["shards"][0]["lag"] == {"node2": None}
    assert {"node": "node1", "alarm": "clocks differ"} in told["alarms"]
    assert [row["node"] for row in told["alarms"]] == ["node1", "node2"]


def test_status_is_tables_for_people(run: Run, node: FakeNode) -> None:
    node.status.shards.add(shard="metadata/0", role="leader")
    ran = run("status")

    assert ran.code == 0
    assert [word in ran.out for word in ("nodes", "shards", "controllers", "alarms")] == [
        True,
        True,
        False,
        False,
    ]


def test_top_shows_what_nodes_do_as_often_as_it_is_told(
    run: Run, node: FakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def texts(*_: object) -> dict[str, str]:
        return {"node1": "quorate_watch_open_watches 3\n"}

    monkeypatch.setattr("quorate.cli.top.texts_of", texts)
    node.status = NodeStatusResponse(
        ready=True, shards=[ReplicaReport(shard="metadata/0", role="leader")], alarms=["clocks"]
    )

    ran = run("top", "--times", "2", "--every", "0.2", "--output", "json")
    told = [json.loads(line) for line in ran.out.splitlines()]
    assert len(told) == 2
    assert told[1]["alarms"] == [{"node": "node1", "alarm": "clocks"}]
    assert [(row["node"], row["watches"]) for row in told[1]["nodes"]] == [("node1", 3)]
    assert told[1]["shards"][0]["commands/s"] == 0
    assert "clocks" in run("top", "--times", "1").out


def test_members_are_listed_with_what_they_hold_and_lead(run: Run, node: FakeNode) -> None:
    node.know("node1", node2="h:1")

    assert json.loads(run("member", "list", "--output", "json").out) == [
        {
            "node": "node1",
            "address": node.address,
            "shards": ["metadata/0"],
            "leads": ["metadata/0"],
        },
        {"node": "node2", "address": "h:1", "shards": ["metadata/0"], "leads": []},
    ]


def test_adding_tells_each_step(run: Run, node: FakeNode) -> None:
    node.progress = STEPS

    ran = run("member", "add", "node4", "h:4")

    assert node.asked == [AddMemberRequest(node="node4", address="h:4")]
    assert ran.out.splitlines() == [
        "0 of 1 shards done; metadata/0: learner",
        "1 of 1 shards done; metadata/0: voter",
        "node4 is a member",
    ]


def test_progress_in_json_is_an_object_a_line(run: Run, node: FakeNode) -> None:
    node.progress = STEPS

    lines = run("member", "remove", "node2", "--yes", "--output", "json").out.splitlines()

    assert node.asked == [RemoveMemberRequest(node="node2")]
    assert [json.loads(line) for line in lines] == [
        {"shard": "metadata/0", "step": "learner", "shards_done": 0, "shards_total": 1},
        {"shard": "metadata/0", "step": "voter", "shards_done": 1, "shards_total": 1},
        {"node": "node2", "member": False},
    ]


LOOK = MeetMemberRequest(node="node2", address="h:2")


def test_replacing_looks_removes_and_then_adds(run: Run, node: FakeNode) -> None:
    assert run("member", "replace", "node2", "h:2", "--yes").code == 0
    assert node.asked == [
        LOOK,
        LOOK,
        RemoveMemberRequest(node="node2"),
        AddMemberRequest(node="node2", address="h:2"),
    ]


def test_nobody_is_replaced_who_was_not_met_or_without_a_word(run: Run, node: FakeNode) -> None:
    planned = run("member", "replace", "node2", "h:2", "--dry-run")
    assert (planned.code, "0000000000000002" in planned.out) == (0, True)
    asked = run("member", "replace", "node2", "h:2")
    assert (asked.code, "nothing was done" in asked.err) == (1, True)
    assert "leaves=0000000000000001  leaves_answering=True" in asked.err
    node.met = None
    assert run("member", "replace", "node2", "h:2", "--yes").code
    assert node.asked == [LOOK] * 3


@pytest.mark.parametrize("member", [0, 2])
def test_a_replacement_that_was_interrupted_goes_on(run: Run, node: FakeNode, member: int) -> None:
    node.met = MeetMemberResponse(replica=2, member=member)
    assert run("member", "replace", "node2", "h:2", "--yes").code == 0
    assert node.asked[2:] == [AddMemberRequest(node="node2", address="h:2")]


def test_a_leader_is_moved(run: Run, node: FakeNode) -> None:
    assert run("member", "transfer", "metadata/0", "node2").out == "node2 leads metadata/0\n"
    assert node.asked == [TransferLeaderRequest(shard="metadata/0", node="node2")]


def test_controllers_are_listed_also_those_that_are_paused(run: Run, node: FakeNode) -> None:
    node.status = NodeStatusResponse(
        controllers=[ControllerReport(name="a.b", shard="metadata/0", state="waiting", runs=3)],
        paused=["c.d"],
    )

    rows = json.loads(run("controller", "list", "--output", "json").out)

    assert [(row["controller"], row["state"]) for row in rows] == [
        ("a.b", "waiting"),
        ("c.d", "paused"),
    ]


def test_a_controller_is_paused_and_resumed_on_every_node(run: Run, node: FakeNode) -> None:
    node.know("node1", "node2")

    assert run("controller", "pause", "a.b").out == "a.b is paused\n"
    assert node.asked == [PauseControllerRequest(name="a.b")] * 2
    assert run("controller", "resume", "a.b").out == "a.b is resumed\n"
    assert node.asked[2:] == [ResumeControllerRequest(name="a.b")] * 2


def test_a_node_that_was_not_reached_is_named_when_the_others_were(
    run: Run, node: FakeNode, nowhere: str
) -> None:
    node.know("node1", node2=nowhere)

    ran = run("controller", "pause", "a.b")

    assert (ran.code, ran.out) == (5, "")
    assert ran.err.startswith("error: could not reach node2: ")
    assert "run this again when that node is up" in ran.err
    assert node.asked == [PauseControllerRequest(name="a.b")]


def test_shards_are_listed_with_their_slots(run: Run, node: FakeNode) -> None:
    assert json.loads(run("shard", "list", "--output", "json").out) == [
        {
            "shard": "metadata/0",
            "slots": 1024,
            "nodes": ["node1"],
            "leader": "node1",
            "term": 3,
            "splits_into": [],
            "merges_into": None,
            "unmerged": None,
            "problems": ["node1: has no replica yet"],
        }
    ]

    node.status = NodeStatusResponse(unopened=["metadata/0"])
    [shown] = json.loads(run("shard", "list", "--output", "json").out)
    assert shown["problems"] == ["node1: is not open yet: it opens on demand"]


def test_a_shard_is_shown_in_every_detail_and_large_numbers_as_text(
    run: Run, node: FakeNode, nowhere: str
) -> None:
    node.know("node1", node2=nowhere)
    node.status = NodeStatusResponse(
        shards=[
            ReplicaReport(
                shard="metadata/0",
                role="leader",
                applied_index=1 << 60,
                term=(1 << 53) - 1,
                members=[MemberReport(node="node1", replica=1 << 63, voter=True)],
            )
        ]
    )

    rows = json.loads(run("shard", "get", "metadata/0", "--output", "json").out)

    assert rows[0]["applied_index"] == str(1 << 60)
    assert rows[0]["term"] == (1 << 53) - 1
    assert rows[0]["members"] == [{"node": "node1", "replica": str(1 << 63), "voter": True}]
    assert {field.name for field in ReplicaReport.DESCRIPTOR.fields} - {"shard"} < set(rows[0])
    assert rows[1]["problem"].startswith("does not answer: ")
    assert "role" in run("shard", "get", "metadata/0").out


def test_a_replica_that_is_not_there_or_broken_is_told(run: Run, node: FakeNode) -> None:
    node.status = NodeStatusResponse(broken=[{"shard": "metadata/0", "error": "damaged"}])

    [row] = json.loads(run("shard", "get", "metadata/0", "--output", "json").out)
    assert row == {"node": "node1", "problem": "cannot be opened: damaged"}


def test_an_unknown_shard_is_told_with_those_that_there_are(run: Run, node: FakeNode) -> None:
    ran = run("shard", "get", "toy/1")

    assert ran.code == 1
    assert ran.err == "error: there is no shard toy/1; name one of metadata/0\n"


def test_a_member_is_removed_by_force(run: Run, node: FakeNode) -> None:
    assert run("member", "remove", "node2", "--force", "--yes").code == 0
    assert run("member", "replace", "node2", "h:2", "--force", "--yes").code == 0
    assert [each for each in node.asked if isinstance(each, RemoveMemberRequest)] == [
        RemoveMemberRequest(node="node2", force=True)
    ] * 2


def stopped(node: FakeNode, nowhere: str) -> None:
    """Let two nodes have a replica that has stopped, and a third one be silent."""
    node.know("node1", "node2", node3=nowhere)
    node.status = NodeStatusResponse(
        shards=[
            ReplicaReport(
                shard="metadata/0", role="leader", stopped="damaged", applied_index=9, generation=4
            ),
            # The history that a recovery begins.
            ReplicaReport(shard="metadata/0", role="leader", epoch=1, generation=2),
        ],
    )


def test_shards_are_listed_with_why_they_stopped(run: Run, node: FakeNode, nowhere: str) -> None:
    stopped(node, nowhere)
    [row] = json.loads(run("shard", "list", "--output", "json").out)
    assert row["problems"] == [
        "node1: has stopped: damaged",
        "node2: has stopped: damaged",
        "node3: does not answer: it cannot be reached",
    ]


def test_a_shard_is_recovered_from_a_replica(run: Run, node: FakeNode, nowhere: str) -> None:
    stopped(node, nowhere)
    ran = run("shard", "recover", "metadata/0", "--from", "node1", "--confirm", "metadata/0")

    assert ran.err == (
        "warning: metadata/0 is recovered from node1, up to index 9; everything written"
        " after that is lost, acknowledged or not; unknown: how much node3 has\n"
    )
    assert ran.out.startswith("metadata/0 is back, led by node1; ")
    [asked] = [each for each in node.asked if isinstance(each, RecoverShardRequest)]
    assert asked == RecoverShardRequest(shard="metadata/0", node="node1", index=9, generation=4)


def test_a_shard_is_dropped(run: Run, node: FakeNode, nowhere: str) -> None:
    stopped(node, nowhere)
    ran = run("shard", "recover", "metadata/0", "--drop", "--confirm", "metadata/0")

    assert "warning: every row of metadata/0 is discarded on all nodes" in ran.err
    [asked] = [each for each in node.asked if isinstance(each, RecoverShardRequest)]
    assert (asked.node, asked.empty) == ("node1", True)


def test_nothing_is_recovered_that_is_not_confirmed(run: Run, node: FakeNode, nowhere: str) -> None:
    stopped(node, nowhere)
    for options, told in (
        (("--from", "node1"), "nothing was changed; repeat it with --confirm metadata/0"),
        (("--drop",), "nothing was changed"),
        (("--drop", "--confirm", "toy/0"), "--confirm names toy/0, not metadata/0"),
        (("--drop", "--from", "node1"), "name a node with --from NODE"),
        ((), "name a node with --from NODE"),
        (("--from", "node9", "--confirm", "metadata/0"), "node9 has no replica of it"),
    ):
        ran = run("shard", "recover", "metadata/0", *options)
        assert ran.code != 0
        assert told in ran.err
    assert not [each for each in node.asked if isinstance(each, RecoverShardRequest)]


@pytest.mark.parametrize(
    ("arguments", "shard_key"),
    [
        ((), b""),
        (("acme", "ada"), keys.pack("acme", "ada")),
        (("--raw", "brokers"), b"brokers"),
        (("--hex", "00ff"), b"\x00\xff"),
    ],
)
def test_the_shard_of_a_key_is_shown(
    run: Run, node: FakeNode, arguments: tuple[str, ...], shard_key: bytes
) -> None:
    ran = run("shard", "find", "metadata", *arguments, "--output", "json")

    assert json.loads(ran.out) == [
        {"shard": "metadata/0", "slot": slot_of(shard_key), "leader": "node1", "nodes": ["node1"]}
    ]


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("toy",), 2, "'toy' is not a group of the cluster; groups: metadata"),
        (("metadata", "--raw"), 2, "one PART: the whole shard key"),
        (("metadata", "--raw", "--hex", "00"), 2, "one PART: the whole shard key"),
        (("metadata", "--hex", "xy"), 2, "'xy' is not in hex digits"),
    ],
)
def test_the_shard_of_what_is_no_key_is_refused(
    run: Run, node: FakeNode, arguments: tuple[str, ...], code: int, told: str
) -> None:
    ran = run("shard", "find", *arguments)

    assert ran.code == code
    assert told in ran.err


PURGED = [
    PurgedRows(shard="offset/0", family="offset.groups", rows=2_000),
    PurgedRows(shard="offset/0", family="offset.groups", rows=5),
]


def test_a_purge_shows_what_there_is_and_asks(run: Run, node: FakeNode) -> None:
    node.purged = PURGED
    ran = run("plugin", "purge", "offset")

    assert ran.code == 1
    assert "offset.groups" in ran.out
    assert "2005" in ran.out
    assert "nothing was deleted" in ran.err
    assert node.asked == [PurgePluginRequest(plugin="offset", count_only=True)]


def test_a_purge_tells_what_was_deleted(run: Run, node: FakeNode) -> None:
    node.purged = PURGED
    ran = run("plugin", "purge", "offset", "--yes", "--output", "json")

    assert json.loads(ran.out) == {"plugin": "offset", "rows": 2005, "families": ["offset.groups"]}
    assert node.asked[1:] == [PurgePluginRequest(plugin="offset")]


def test_a_purge_without_rows_does_not_ask(run: Run, node: FakeNode) -> None:
    ran = run("plugin", "purge", "offset")

    assert ran.out == "deleted 0 rows of offset in 0 families; nothing is left\n"
    assert len(node.asked) == 2


def placed(*nodes: PlacedNode, moving: int = 0, planned: int = 0) -> PlacementResponse:
    move = PlannedMove(shard="toy/0", source="node1", target="node4")
    return PlacementResponse(nodes=nodes, moving=[move] * moving, planned=[move] * planned)


def test_nodes_are_listed_as_places_for_replicas(run: Run, node: FakeNode) -> None:
    node.placements = [
        placed(
            PlacedNode(node="n1", machine="m", zone="z", replicas=3, leads=1, answers=True),
            PlacedNode(node="n2", machine="n2", drains=True, replicas=1, answers=True),
            PlacedNode(node="n3", machine="n3", drains=True, answers=True),
            PlacedNode(node="n4", machine="n4", replicas=2),
        )
    ]
    rows = json.loads(run("node", "list", "--output", "json").out)
    assert rows[0] == {
        "node": "n1",
        "machine": "m",
        "zone": "z",
        "replicas": 3,
        "leads": 1,
        "state": "takes replicas",
    }
    assert [row["state"] for row in rows[1:]] == ["drains", "drained", "does not answer"]


def test_a_node_is_drained_and_told_how_far_it_is(run: Run, node: FakeNode) -> None:
    node.placements = [
        placed(PlacedNode(node="node1", replicas=2)),
        placed(PlacedNode(node="node1", replicas=1)),
        placed(PlacedNode(node="node1")),
    ]
    ran = run("node", "drain", "node1")
    assert ran.out.splitlines() == [
        "replicas on node1: 2",
        "replicas on node1: 1",
        "node1 is drained of 2 replicas",
    ]
    assert node.asked == [DrainNodeRequest(node="node1")]
    assert run("node", "undrain", "node1").out == "node1 accepts replicas again\n"
    assert node.asked[1:] == [DrainNodeRequest(node="node1", undo=True)]


def test_a_drain_and_a_move_are_begun_and_not_waited_for(run: Run, node: FakeNode) -> None:
    node.placements = [placed(PlacedNode(node="node1", replicas=2), moving=1)]

    ran = run("node", "drain", "node1", "--no-wait")
    assert ran.out == "node1 is being drained of 2 replicas\n"
    ran = run("shard", "move", "toy/0", "node1", "node4", "--no-wait")
    assert ran.out == "the replica of toy/0 moves from node1 to node4\n"
    assert node.asked == [
        DrainNodeRequest(node="node1"),
        MoveReplicaRequest(shard="toy/0", source="node1", target="node4"),
    ]


def test_the_plan_of_a_drain_changes_nothing(run: Run, node: FakeNode) -> None:
    rows = json.loads(run("node", "drain", "node1", "--dry-run", "--output", "json").out)
    assert rows == [{"shard": "toy/0", "from": "node1", "to": "node4"}]
    assert node.asked == [DrainNodeRequest(node="node1", check_only=True)]


def test_a_replica_is_moved(run: Run, node: FakeNode) -> None:
    node.placements = [placed(moving=1), placed()]
    ran = run("shard", "move", "toy/0", "node1", "node4")
    assert ran.out.splitlines() == [
        "toy/0 moves: 1",
        "the replica of toy/0 has moved from node1 to node4",
    ]
    assert node.asked == [MoveReplicaRequest(shard="toy/0", source="node1", target="node4")]


def test_what_is_going_to_move_is_shown(run: Run, node: FakeNode) -> None:
    node.placements = [placed(moving=1, planned=1)]
    ran = run("shard", "balance", "--dry-run", "--output", "json")
    assert [row["state"] for row in json.loads(ran.out)] == ["moves", "planned"]
    node.placements = [placed(planned=1), placed(planned=1), placed()]
    assert run("shard", "balance").out.splitlines() == [
        "replicas to move: 1",
        "no replica has to move",
    ]


@pytest.fixture
def sharded(node: FakeNode) -> FakeNode:
    """A node that has five shards of a group, and says which."""
    node.know("node1")
    for number, slots in enumerate(even_cut(5)):
        node.topology.shards.add(
            group="toy", number=number, slots=slots, nodes=["node1"], leader="node1"
        )
    return node


def test_what_a_merge_would_make_is_shown(run: Run, sharded: FakeNode) -> None:
    rows = json.loads(run("shard", "merge", "toy/1", "toy/2", "--dry-run", "--output", "json").out)
    assert rows == [{"shard": "toy/5", "slots": 410, "of": "toy/1 toy/2"}]
    assert sharded.asked == [MergeShardsRequest(shard="toy/1", other="toy/2", check_only=True)]


def test_shards_are_merged(run: Run, sharded: FakeNode) -> None:
    rows = json.loads(run("shard", "merge", "toy/1", "toy/2", "--output", "json").out)
    assert rows == [{"shard": "toy/5", "slots": 410, "of": "toy/1 toy/2"}]
    assert sharded.asked == [MergeShardsRequest(shard="toy/1", other="toy/2")]


def test_a_merge_that_is_taken_back_says_why(
    run: Run, sharded: FakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reshaping, "_LOOK_S", 0.001)
    sharded.unmerged = "it has too many rows"
    ran = run("shard", "merge", "toy/1", "toy/2")
    assert ran.code
    assert "toy/1 was not merged: it has too many rows" in ran.err


def test_a_merge_is_taken_back(run: Run, sharded: FakeNode) -> None:
    assert run("shard", "merge", "toy/1", "--cancel").out == "toy/1 is unchanged\n"
    assert sharded.asked == [CancelMergeRequest(shard="toy/1")]


def test_a_merge_takes_two_shards(run: Run, sharded: FakeNode) -> None:
    assert "name the other one" in run("shard", "merge", "toy/1").err
    assert not sharded.asked


def test_a_group_shrinks_by_its_smallest_shards(run: Run, sharded: FakeNode) -> None:
    assert run("group", "shrink", "toy", "--shards", "2").out.splitlines() == [
        "toy/4 and toy/0 are toy/5 now",
        "toy/1 and toy/2 are toy/6 now",
        "toy/3 and toy/5 are toy/7 now",
    ]
    assert sorted(each.number for each in sharded.topology.shards if each.group == "toy") == [6, 7]


def test_shards_that_are_not_on_the_same_nodes_are_not_merged(run: Run, sharded: FakeNode) -> None:
    for number, place in enumerate(sharded.topology.shards):
        place.nodes[:] = [f"node{number}"]
    assert "quorate shard move" in run("group", "shrink", "toy", "--shards", "2").err
    assert not sharded.asked


@pytest.mark.parametrize("verb", ["split", "merge"])
def test_a_dry_run_cancels_nothing(run: Run, sharded: FakeNode, verb: str) -> None:
    ran = run("shard", verb, "toy/1", "--cancel", "--dry-run")
    assert ran.code == 2
    assert "Give --cancel or --dry-run, not both" in ran.err
    assert sharded.asked == []


def test_the_merges_of_a_group_are_shown(run: Run, sharded: FakeNode) -> None:
    ran = run("group", "shrink", "toy", "--shards", "3", "--dry-run", "--output", "json")
    assert json.loads(ran.out) == [
        {"merges": ["toy/4", "toy/0"], "slots": 409},
        {"merges": ["toy/1", "toy/2"], "slots": 410},
    ]
    assert sharded.asked == []
    ran = run("group", "shrink", "toy", "--shards", "1", "--dry-run", "--output", "json")
    assert json.loads(ran.out)[-1]["slots"] == 1024
    assert sum("+" in each for row in json.loads(ran.out) for each in row["merges"]) == 3


def test_an_addition_is_checked_and_not_done(run: Run, node: FakeNode) -> None:
    rows = json.loads(run("member", "add", "node4", "h:4", "--dry-run", "--output", "json").out)
    assert rows == [
        {"node": "node4", "address": "h:4", "waits": f"{2:016x}", "shards": ["metadata/0"]}
    ]
    assert node.asked == [MeetMemberRequest(node="node4", address="h:4")]


def test_a_transfer_is_checked_and_not_done(run: Run, node: FakeNode) -> None:
    node.know("node1", node2="h:2")
    ran = run("member", "transfer", "metadata/0", "node2", "--dry-run", "--output", "json")
    assert json.loads(ran.out) == [{"shard": "metadata/0", "leader": "node1", "next": "node2"}]
    ran = run("member", "transfer", "metadata/0", "node9", "--dry-run")
    assert ran.err == ("error: node9 has no replica of metadata/0; name one of node1, node2\n")
    assert node.asked == []


def test_what_a_recovery_would_lose_is_shown(run: Run, node: FakeNode, nowhere: str) -> None:
    node.know("node1", node2=nowhere)
    ran = run("shard", "recover", "metadata/0", "--drop", "--dry-run", "--output", "json")
    shown = json.loads(ran.out)
    assert (shown["shard"], shown["empty"]) == ("metadata/0", True)
    assert shown["lost"].startswith("every row of metadata/0 is discarded on all nodes")
    assert node.asked == []


def test_the_former_name_of_a_dry_run_is_taken_and_not_shown(run: Run, node: FakeNode) -> None:
    run("node", "drain", "node1", "--plan")
    assert node.asked == [DrainNodeRequest(node="node1", check_only=True)]
    shown = run("node", "drain", "--help").out
    assert "--dry-run" in shown
    assert "--plan" not in shown
