"""How shards come to be, and what a node says that does not fit the cluster."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from google.protobuf.wrappers_pb2 import StringValue
from quorate.apply.entries import of_shard
from quorate.consensus.timing import Timing
from quorate.plugin import RaftGroup
from quorate.plugin.shard_id import METADATA, ShardId
from quorate.plugin.slots import slots_in
from quorate.shards.topology_rows import is_changing, replicas_of
from quorate.storage.data.shard_data import ShardData
from quorate.storage.families import SHARDS
from quorate.storage.notes import Note
from quorate.topology.commands.splits import parts_of
from quorate.topology.replicas.declaration import GroupsDifferError
from quorate.v1.control_pb2 import BeginMerge, BeginSplit, CreateShards, ShardMember, ShardRow

if TYPE_CHECKING:
    from quorate.apply.entries import LoggedCommand
    from quorate.consensus.messages import Message

    from core.tests.steered import Cluster, Node

NewCluster = Callable[..., "Cluster"]
NewCommand = Callable[..., "LoggedCommand"]

TOYS = [ShardId("toy", number) for number in range(3)]
#: That of the clusters here.
TIMING = Timing(heartbeat_s=0.05, election_min_s=0.2, election_max_s=0.4)
#: What is split off toy/1.
PART = ShardId("toy", 3)
#: What a node has once toy/1 and toy/2 were merged.
MERGED = {METADATA, TOYS[0], ShardId("toy", 3)}


def test_three_shards_are_created_on_three_nodes(
    new_cluster: NewCluster, new_command: NewCommand
) -> None:
    cluster = new_cluster(group="toy", shards={"toy": 3})
    for number, shard in enumerate(TOYS):
        leader = cluster.leader_of(shard)
        slot = slots_in(bytes(128 * [255]))[number * 1_024 // 3 + 1]
        future = cluster.proposal(
            leader, new_command(StringValue(value=f"{shard}=x"), slot=slot), shard=shard
        )
        [outcome] = cluster.result(future)
        assert outcome.refusal is None
    cluster.pass_time(1.0)

    for node in cluster.nodes.values():
        assert [node.rows(shard) for shard in TOYS] == [{str(shard): "x"} for shard in TOYS]
        assert node.shards.slot_map.shards("toy") == tuple(TOYS)
    owned = [set(cluster.nodes["a"][shard].applier.slots.owned) for shard in TOYS]
    assert set.union(*owned) == set(range(1_024))
    assert sum(map(len, owned)) == 1_024


def put(cluster: Cluster, shard: ShardId, command: LoggedCommand) -> Node:
    """Have the leader of a shard carry out a command, and return the leader."""
    leader = cluster.leader_of(shard)
    cluster.result(cluster.proposal(leader, command, shard=shard))
    return leader


def test_shards_are_opened_again_after_a_restart(
    new_cluster: NewCluster, new_command: NewCommand
) -> None:
    cluster = new_cluster(group="toy", shards={"toy": 3})
    put(cluster, TOYS[0], new_command(StringValue(value="a=1"), slot=0))
    for node in cluster.nodes.values():
        node.stop()
    for node in cluster.nodes.values():
        node.start()
        # What is known from the disk is there at once.
        assert len(list(node.shards.all())) == 4
    leader = put(cluster, TOYS[0], new_command(StringValue(value="b=1"), slot=0))

    assert leader.rows(TOYS[0]) == {"a": "1", "b": "1"}


def restart(cluster: Cluster) -> None:
    """Kill all nodes, and start them with every shard but metadata/0 to be opened later."""
    for node in cluster.nodes.values():
        node.stop()
    for node in cluster.nodes.values():
        node.at_once = 0
        node.start()


def test_a_shard_that_is_not_open_opens_for_a_call_on_all_nodes(
    new_cluster: NewCluster, new_command: NewCommand
) -> None:
    cluster = new_cluster(group="toy", shards={"toy": 3})
    put(cluster, TOYS[1], new_command(StringValue(value="a=1"), slot=400))
    restart(cluster)
    cluster.pass_time(5.0)
    assert all(hosted(node) == {METADATA} for node in cluster.nodes.values())

    asked = cluster.nodes["a"]
    assert asked.shards.is_unopened(TOYS[1])
    opened = asked.run(
        lambda: asked.loop.create_task(asked.shards.opened(TOYS[1], asked.loop.time() + 1.0))
    )
    cluster.result(opened)
    assert not asked.shards.is_unopened(TOYS[1])
    began = cluster.world.now
    leader = cluster.leader_of(TOYS[1])
    # The others open theirs for its request for votes, which is kept until they have.
    assert leader is asked
    assert cluster.world.now - began < TIMING.election_min_s / 2
    put(cluster, TOYS[1], new_command(StringValue(value="b=1"), slot=400))
    cluster.pass_time(1.0)

    for node in cluster.nodes.values():
        assert hosted(node) == {METADATA, TOYS[1]}
        assert node.rows(TOYS[1]) == {"a": "1", "b": "1"}


def test_shards_that_nobody_asks_for_open_in_their_turn_and_are_led_by_all_nodes(
    new_cluster: NewCluster,
) -> None:
    cluster = new_cluster(group="toy", shards={"toy": 3})
    restart(cluster)
    for node in cluster.nodes.values():
        node.loop.call_soon(node.shards.unopened.open_all)
    cluster.until(lambda: all(len(hosted(node)) > 1 for node in cluster.nodes.values()))
    # Each begins with others.
    first = [next(iter(hosted(node) - {METADATA})) for node in cluster.nodes.values()]
    assert first == TOYS
    for shard in TOYS:
        cluster.leader_of(shard)
    cluster.until(lambda: all(hosted(each) == {METADATA, *TOYS} for each in cluster.nodes.values()))

    assert not any(node.shards.unopened for node in cluster.nodes.values())


def test_what_is_not_as_it_should_be_opens_at_once(new_cluster: NewCluster) -> None:
    cluster = new_cluster(group="toy", shards={"toy": 3})
    node = cluster.nodes["a"]
    node.stop()
    node.notes.write(str(TOYS[0]), Note(stopped="it failed"))
    node.homes[TOYS[1]].destroy()
    node.at_once = 0
    node.start()

    assert set(node.shards.broken) == {TOYS[0]}
    assert hosted(node) == {METADATA, TOYS[1]}
    assert list(node.shards.unopened) == [TOYS[2]]


def test_what_is_made_of_a_shard_looks_at_it_first(new_cluster: NewCluster) -> None:
    # With this seed the late node learns of the merge before it has removed what was merged.
    cluster = new_cluster(group="toy", shards={"toy": 3}, seed=3)
    late = merged(cluster)
    cluster.heal()
    cluster.until(lambda: late.shards.rows()[TOYS[1]].merged_into != 0)
    assert TOYS[1] in hosted(late)
    late.stop()
    late.at_once = 0
    late.start()

    assert not {*TOYS[1:]} & {*late.shards.unopened}
    late.run(late.shards.unopened.open_all)
    cluster.until(lambda: hosted(late) == MERGED)


def test_a_shard_that_has_left_is_not_opened(new_cluster: NewCluster) -> None:
    cluster = new_cluster(group="toy", shards={"toy": 3})
    late = merged(cluster)
    cluster.heal()
    cluster.until(lambda: not replicas_of(late.shards.rows()[TOYS[1]]))
    late.stop()
    for shard in TOYS[1:]:
        late.notes.write(str(shard), Note())
    late.at_once = 0
    late.start()
    late.run(late.shards.unopened.open_all)

    cluster.until(lambda: hosted(late) == MERGED)
    cluster.until(lambda: not any(late.log.holds(str(shard)) for shard in TOYS[1:]))
    assert not late.shards.unopened


def test_a_replica_opens_soon_after_it_is_asked_for(new_cluster: NewCluster) -> None:
    cluster = new_cluster(group="toy", shards={"toy": 3})
    restart(cluster)
    node = cluster.nodes["a"]
    assert node.run(lambda: node.shards.get(TOYS[2])) is None
    cluster.until(lambda: TOYS[2] in hosted(node))

    assert node.shards.get(TOYS[2]) is not None
    assert list(node.shards.unopened) == TOYS[:2]


def test_a_majority_that_has_to_open_first_goes_on_without_the_third(
    new_cluster: NewCluster, new_command: NewCommand
) -> None:
    cluster = new_cluster(group="toy", shards={"toy": 3})
    leader = put(cluster, TOYS[0], new_command(StringValue(value="a=1"), slot=0))
    cluster.pass_time(1.0)
    restart(cluster)
    cluster.isolate(leader)
    asked = next(node for node in cluster.nodes.values() if node is not leader)
    asked.run(lambda: asked.shards.unopened.want(TOYS[0]))
    heir = cluster.leader_of(TOYS[0])
    cluster.until(lambda: heir.rows(TOYS[0]) == {"a": "1"})

    assert heir is not leader


def test_a_replica_that_cannot_open_is_said_and_keeps_nobody_waiting(
    new_cluster: NewCluster,
) -> None:
    cluster = new_cluster(group="toy", shards={"toy": 3})
    cluster.pass_time(6.0)
    node = cluster.nodes["a"]
    node.stop()
    node.at_once = 0
    node.start()
    damaged: list[ShardId] = []
    node.shards.on_damage = lambda shard, error: damaged.append(shard)
    node.homes[TOYS[1]]._pointers = [b"garbage"]
    waiting = node.run(
        lambda: node.loop.create_task(node.shards.opened(TOYS[1], node.loop.time() + 30.0))
    )
    began = cluster.world.now
    cluster.result(waiting)

    assert cluster.world.now < began + 1.0
    assert set(node.shards.broken) == {TOYS[1]}
    assert damaged == [TOYS[1]]
    assert not node.failures
    node.run(node.shards.unopened.open_all)
    cluster.until(lambda: hosted(node) == {METADATA, TOYS[0], TOYS[2]})


def test_what_would_have_ended_the_start_ends_the_node(
    new_cluster: NewCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = new_cluster(group="toy", shards={"toy": 3})
    restart(cluster)
    node = cluster.nodes["a"]

    def fail(*_: object) -> None:
        raise ZeroDivisionError("a plugin")

    monkeypatch.setattr(ShardData, "open", fail)
    node.run(lambda: node.shards.get(TOYS[1]))
    cluster.until(lambda: bool(node.failures))

    assert isinstance(node.failures[0], ZeroDivisionError)


def test_a_node_that_stops_opens_nothing_more(new_cluster: NewCluster) -> None:
    cluster = new_cluster(group="toy", shards={"toy": 3})
    restart(cluster)
    node = cluster.nodes["a"]
    node.run(node.shards.unopened.open_all)
    node.run(node.shards.unopened.end)
    before = hosted(node)
    row = ShardRow(group="late", members=[ShardMember(node="z", replica=9)], slots=bytes(128))
    cluster.propose(of_shard(CreateShards(shards=[row])))
    cluster.until(lambda: _knows_late(node))
    cluster.pass_time(5.0)

    assert hosted(node) == before
    closed = node.run(lambda: node.loop.create_task(node.shards.close()))
    cluster.result(closed)


def test_a_shard_that_is_merged_while_it_is_not_open_leaves(new_cluster: NewCluster) -> None:
    cluster = new_cluster(group="toy", shards={"toy": 3})
    late = merged(cluster)
    late.stop()
    late.at_once = 0
    late.start()
    assert {*late.shards.unopened} == {*TOYS}
    cluster.heal()

    cluster.until(lambda: hosted(late) >= {METADATA, ShardId("toy", 3)})
    cluster.until(lambda: not any(late.log.holds(str(shard)) for shard in TOYS[1:]))
    assert not any(late.homes[shard].folders() for shard in TOYS[1:])
    assert not {*TOYS[1:]} & {*late.shards.unopened}


def split(cluster: Cluster) -> Node:
    """Split toy/1 on two of three nodes, and begin a new life of the third, which knows nothing."""
    late = cluster.followers[0]
    cluster.isolate(late)
    for shard in (METADATA, TOYS[1]):
        cluster.leader_of(shard)
    _, given = parts_of(late.shards.rows()[TOYS[1]].slots, 2)
    cluster.propose(of_shard(BeginSplit(group="toy", number=1, slots=[given])))
    others = [node for node in cluster.nodes.values() if node is not late]
    cluster.until(lambda: all(PART in hosted(node) for node in others))
    cluster.until(lambda: not is_changing(cluster.leader.shards.rows()[TOYS[1]]))
    late.stop()
    late.at_once = 0
    late.start()
    assert TOYS[1] in late.shards.unopened
    return late


def test_what_is_split_off_a_shard_that_is_not_open_is_cut_from_it(
    new_cluster: NewCluster, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Were it begun without rows, and were all nodes to do so, nobody would have the rows."""
    cluster = new_cluster(group="toy", shards={"toy": 3})
    late = split(cluster)
    with monkeypatch.context() as patch:
        patch.setattr(cluster, "deliver", of_metadata(cluster.deliver))
        cluster.heal()
        cluster.until(lambda: PART in late.shards.rows())
        cluster.pass_time(2.0)
        assert hosted(late) == {METADATA, TOYS[1]}

    with caplog.at_level(logging.INFO, "quorate.topology.replicas.files"):
        cluster.until(lambda: PART in hosted(late))
    assert "shard toy/1 was copied to toy/3" in caplog.text


def test_what_is_split_off_a_shard_that_cannot_be_opened_comes_from_another_node(
    new_cluster: NewCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = new_cluster(group="toy", shards={"toy": 3})
    late = split(cluster)
    late.homes[TOYS[1]]._pointers = [b"garbage"]
    monkeypatch.setattr(cluster, "deliver", of_metadata(cluster.deliver))
    cluster.heal()

    cluster.until(lambda: PART in hosted(late))
    assert set(late.shards.broken) == {TOYS[1]}


def of_metadata(
    deliver: Callable[[Node, ShardId, Message], None],
) -> Callable[[Node, ShardId, Message], None]:
    """Let no messages through but those of metadata/0."""
    return lambda source, shard, message: (
        deliver(source, shard, message) if shard == METADATA else None
    )


def test_whoever_asks_is_told_of_every_shard_that_opens(new_cluster: NewCluster) -> None:
    cluster = new_cluster(group="toy", shards={"toy": 3}, settled=False)
    node = cluster.nodes["a"]
    early: list[ShardId] = []
    late: list[ShardId] = []
    node.run(lambda: node.shards.on_open(lambda shard: early.append(shard.id)))
    assert early == [METADATA]

    cluster.until(lambda: len(list(node.shards.all())) == 4)
    node.run(lambda: node.shards.on_open(lambda shard: late.append(shard.id)))

    assert early == late == [METADATA, *TOYS]


def test_every_node_knows_which_nodes_know_a_command(new_cluster: NewCluster) -> None:
    cluster = new_cluster(group="toy", shards={"toy": 1})
    node = cluster.nodes["b"]
    cluster.until(lambda: node.shards.knowing("google.protobuf.StringValue") == ["a", "b", "c"])
    assert not node.shards.knowing("a.Stranger")


def test_no_shard_is_created_while_nodes_declare_different_ones(
    new_cluster: NewCluster, caplog: pytest.LogCaptureFixture
) -> None:
    cluster = new_cluster(group="toy", shards={"toy": 3}, settled=False)
    odd = cluster.nodes["c"]
    odd.stop()
    odd.configured = {"toy": 2}
    odd.start()
    with caplog.at_level(logging.WARNING, "quorate.topology.changes.creation"):
        cluster.pass_time(5.0)

    assert all(len(list(node.shards.all())) == 1 for node in cluster.nodes.values())
    [said] = {r.message for r in caplog.records if "no shards are created" in r.message}
    assert "a declares 3 shards of group toy and c 2 shards" in said
    # Metadata itself works meanwhile.
    assert cluster.leader.metadata.applier.slots.version == 1
    odd.stop()
    odd.configured = {"toy": 3}
    odd.start()
    cluster.until(lambda: all(len(list(n.shards.all())) == 4 for n in cluster.nodes.values()))


def test_a_node_with_other_plugins_is_named(
    new_cluster: NewCluster, caplog: pytest.LogCaptureFixture
) -> None:
    cluster = new_cluster(group="toy", settled=False)
    odd = cluster.nodes["b"]
    odd.stop()
    declared = dict(odd.catalog.declared)
    plugin = replace(declared["toy"].plugin, version="2")
    declared["toy"] = replace(declared["toy"], plugin=plugin)
    odd.catalog = replace(odd.catalog, declared=declared)
    odd.start()
    with caplog.at_level(logging.WARNING, "quorate.topology.changes.creation"):
        cluster.pass_time(5.0)

    assert any("a and b run different plugins" in record.message for record in caplog.records)
    assert all(len(list(node.shards.all())) == 1 for node in cluster.nodes.values())


def test_a_file_that_contradicts_the_slot_map_is_an_error_that_names_both(
    new_cluster: NewCluster,
) -> None:
    cluster = new_cluster(group="toy", shards={"toy": 3})
    node = cluster.nodes["a"]
    node.stop()
    node.configured = {"toy": 4}
    with pytest.raises(GroupsDifferError, match=r"\[groups.toy\] shards is 4, .* has 3 shards"):
        node.start()
    node.stop()
    node.configured = {}
    node.start()

    assert len(list(node.shards.all())) == 4


def test_a_group_that_no_plugin_declares_is_an_error(new_cluster: NewCluster) -> None:
    cluster = new_cluster()
    node = cluster.nodes["a"]
    node.stop()
    node.configured = {"nobody": 4}
    with pytest.raises(GroupsDifferError, match="names nobody, and no enabled plugin"):
        node.start()


def test_a_plugin_that_is_enabled_later_gets_its_group(new_cluster: NewCluster) -> None:
    cluster = new_cluster()
    groups = {**cluster.catalog.groups, "late": RaftGroup(name="late", shards=2)}
    for node in cluster.nodes.values():
        node.stop()
        node.catalog = replace(node.catalog, groups=groups)
        node.start()

    cluster.until(lambda: all(len(list(n.shards.all())) == 3 for n in cluster.nodes.values()))
    assert cluster.leader_of(ShardId("late", 1)).shards.slot_map.shards("late")[1].number == 1


def test_a_shard_that_cannot_be_opened_leaves_the_others_alone(new_cluster: NewCluster) -> None:
    cluster = new_cluster(group="toy", shards={"toy": 3})
    node = cluster.nodes["a"]
    cluster.pass_time(6.0)
    node.stop()
    node.homes[TOYS[1]]._pointers = [b"garbage"]
    node.start()

    assert node.shards.get(TOYS[1]) is None
    assert "its pointer cannot be read" in str(node.shards.broken[TOYS[1]])
    assert node.shards.get(TOYS[0]) is not None


def test_closing_ends_every_shard(new_cluster: NewCluster) -> None:
    cluster = new_cluster(group="toy", shards={"toy": 3})
    node = cluster.nodes["a"]
    closed = node.run(lambda: node.loop.create_task(node.shards.close()))
    cluster.result(closed)

    assert all(not shard.leads for shard in node.shards.all())


def test_what_leads_is_another_object_after_each_change_alone(new_cluster: NewCluster) -> None:
    """What follows the leaders compares it instead of looking at each shard."""
    cluster = new_cluster(group="toy", shards={"toy": 3})
    node = cluster.leader_of(TOYS[0])
    before = node.shards.leading()
    cluster.pass_time(1.0)
    assert node.shards.leading() is before

    cluster.isolate(node)
    cluster.until(lambda: not node[TOYS[0]].leads)
    assert TOYS[0] not in {shard.id for shard in node.shards.leading()}
    cluster.heal()
    other = cluster.leader_of(TOYS[0])
    other.run(partial(other[TOYS[0]].transfer, node.name))
    cluster.until(lambda: node[TOYS[0]].leads)

    assert TOYS[0] in {shard.id for shard in node.shards.leading()}
    assert node.shards.leading() is not before


def test_a_new_shard_is_led_by_another_node_each_time(new_cluster: NewCluster) -> None:
    """Each replica of a shard that is founded campaigns at its own time, long before it must."""
    cluster = new_cluster(group="toy", shards={"toy": 3}, settled=False)

    assert {cluster.leader_of(shard).name for shard in TOYS} == {"a", "b", "c"}
    assert all(cluster.nodes["a"][shard].term == 1 for shard in TOYS)


def test_rows_are_read_again_only_when_they_changed(
    new_cluster: NewCluster, new_command: NewCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = new_cluster()
    leader = cluster.leader
    read: list[str] = []
    iterate = ShardData.iterate

    def noted(data: ShardData, family: str, *bounds: Any, **how: Any) -> Any:
        read.append(family)
        return iterate(data, family, *bounds, **how)

    cluster.pass_time(2.0)
    monkeypatch.setattr(ShardData, "iterate", noted)
    before = leader.shards.slot_map
    for number in range(5):
        cluster.propose(new_command(StringValue(value=f"a={number}"), slot=0))
    cluster.pass_time(0.1)
    assert SHARDS not in read
    assert leader.shards.slot_map is before

    members = [ShardMember(node="z", replica=9)]
    row = ShardRow(group="late", number=0, slots=bytes(128), members=members)
    cluster.propose(new_command(CreateShards(shards=[row]), slotless=True))
    cluster.until(lambda: all(_knows_late(node) for node in cluster.nodes.values()))


def _knows_late(node: Node) -> bool:
    return any(row.group == "late" for row in node.shards.rows().values())


def test_a_difference_is_the_concern_of_whoever_leads(new_cluster: NewCluster) -> None:
    cluster = new_cluster(group="toy", shards={"toy": 3}, settled=False)
    odd = cluster.nodes["c"]
    odd.stop()
    odd.configured = {"toy": 2}
    odd.start()
    cluster.until(lambda: any(node.shards.difference for node in cluster.nodes.values()))
    leader = cluster.leader
    cluster.isolate(leader)
    cluster.until(lambda: not leader.metadata.leads)
    cluster.heal()
    heir = cluster.leader
    cluster.pass_time(2.0)

    assert [node.name for node in cluster.nodes.values() if node.shards.difference] == [heir.name]


# Merges.


def merged(cluster: Cluster) -> Node:
    """Merge toy/1 and toy/2 on two of three nodes, and return the third, which knows nothing."""
    late = cluster.followers[0]
    cluster.isolate(late)
    for shard in (METADATA, *TOYS):
        cluster.leader_of(shard)
    [outcome] = cluster.propose(of_shard(BeginMerge(group="toy", base=1, other=2)))
    assert outcome.refusal is None
    others = [node for node in cluster.nodes.values() if node is not late]
    cluster.until(lambda: all(hosted(node) == MERGED for node in others))
    return late


def hosted(node: Node) -> set[ShardId]:
    return {shard.id for shard in node.shards.all()}


def test_merged_shards_leave_a_node_that_made_nothing_of_them(new_cluster: NewCluster) -> None:
    cluster = new_cluster(group="toy", shards={"toy": 3})
    late = merged(cluster)
    assert hosted(late) == {METADATA, *TOYS}
    cluster.heal()

    cluster.until(lambda: hosted(late) == MERGED)
    cluster.until(lambda: not any(late.log.holds(str(shard)) for shard in TOYS[1:]))


def test_merged_shards_leave_a_node_that_died_before_it_began_to_remove_them(
    new_cluster: NewCluster,
) -> None:
    cluster = new_cluster(group="toy", shards={"toy": 3})
    late = merged(cluster)
    cluster.heal()
    cluster.until(lambda: not replicas_of(late.shards.rows()[TOYS[1]]))
    late.stop()
    for shard in TOYS[1:]:
        late.notes.write(str(shard), Note())
    late.start()

    cluster.until(lambda: hosted(late) == MERGED)
    cluster.until(lambda: not any(late.log.holds(str(shard)) for shard in TOYS[1:]))
    assert not any(late.homes[shard].folders() for shard in TOYS[1:])
