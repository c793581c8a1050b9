"""How shards come to be, and what a node says that does not fit the cluster."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from google.protobuf.wrappers_pb2 import StringValue
from quorate.apply.control import METADATA
from quorate.apply.entries import of_shard
from quorate.apply.members import replicas_of
from quorate.groups.declared_groups import GroupsDifferError
from quorate.plugin import RaftGroup
from quorate.plugin.shard_id import ShardId
from quorate.plugin.slots import slots_in
from quorate.storage.data.shard_data import ShardData
from quorate.storage.families import SHARDS
from quorate.storage.notes import Note
from quorate.v1.control_pb2 import BeginMerge, CreateShards, ShardMember, ShardRow

if TYPE_CHECKING:
    from quorate.apply.entries import LoggedCommand

    from core.tests.groups.replicas.conftest import Cluster, Node

NewCluster = Callable[..., "Cluster"]
NewCommand = Callable[..., "LoggedCommand"]

TOYS = [ShardId("toy", number) for number in range(3)]
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


def test_shards_are_opened_again_after_a_restart(
    new_cluster: NewCluster, new_command: NewCommand
) -> None:
    cluster = new_cluster(group="toy", shards={"toy": 3})
    leader = cluster.leader_of(TOYS[0])
    command = new_command(StringValue(value="a=1"), slot=0)
    cluster.result(cluster.proposal(leader, command, shard=TOYS[0]))
    for node in cluster.nodes.values():
        node.kill()
    for node in cluster.nodes.values():
        node.start()
        # What is known from the disk is there at once.
        assert len(list(node.shards.all())) == 4
    again = new_command(StringValue(value="b=1"), slot=0)
    leader = cluster.leader_of(TOYS[0])
    cluster.result(cluster.proposal(leader, again, shard=TOYS[0]))

    assert leader.rows(TOYS[0]) == {"a": "1", "b": "1"}


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
    odd.kill()
    odd.configured = {"toy": 2}
    odd.start()
    with caplog.at_level(logging.WARNING, "quorate.groups.shard_creation"):
        cluster.pass_time(5.0)

    assert all(len(list(node.shards.all())) == 1 for node in cluster.nodes.values())
    [said] = {r.message for r in caplog.records if "no shards are created" in r.message}
    assert "a declares 3 shards of group toy and c 2 shards" in said
    # Metadata itself works meanwhile.
    assert cluster.leader.metadata.applier.slots.version == 1
    odd.kill()
    odd.configured = {"toy": 3}
    odd.start()
    cluster.until(lambda: all(len(list(n.shards.all())) == 4 for n in cluster.nodes.values()))


def test_a_node_with_other_plugins_is_named(
    new_cluster: NewCluster, caplog: pytest.LogCaptureFixture
) -> None:
    cluster = new_cluster(group="toy", settled=False)
    odd = cluster.nodes["b"]
    odd.kill()
    declared = dict(odd.catalog.declared)
    plugin = replace(declared["toy"].plugin, version="2")
    declared["toy"] = replace(declared["toy"], plugin=plugin)
    odd.catalog = replace(odd.catalog, declared=declared)
    odd.start()
    with caplog.at_level(logging.WARNING, "quorate.groups.shard_creation"):
        cluster.pass_time(5.0)

    assert any("a and b run different plugins" in record.message for record in caplog.records)
    assert all(len(list(node.shards.all())) == 1 for node in cluster.nodes.values())


def test_a_file_that_contradicts_the_slot_map_is_an_error_that_names_both(
    new_cluster: NewCluster,
) -> None:
    cluster = new_cluster(group="toy", shards={"toy": 3})
    node = cluster.nodes["a"]
    node.kill()
    node.configured = {"toy": 4}
    with pytest.raises(GroupsDifferError, match=r"\[groups.toy\] shards is 4, .* has 3 shards"):
        node.start()
    node.kill()
    node.configured = {}
    node.start()

    assert len(list(node.shards.all())) == 4


def test_a_group_that_no_plugin_declares_is_an_error(new_cluster: NewCluster) -> None:
    cluster = new_cluster()
    node = cluster.nodes["a"]
    node.kill()
    node.configured = {"nobody": 4}
    with pytest.raises(GroupsDifferError, match="names nobody, and no enabled plugin"):
        node.start()


def test_a_plugin_that_is_enabled_later_gets_its_group(new_cluster: NewCluster) -> None:
    cluster = new_cluster()
    groups = {**cluster.catalog.groups, "late": RaftGroup(name="late", shards=2)}
    for node in cluster.nodes.values():
        node.kill()
        node.catalog = replace(node.catalog, groups=groups)
        node.start()

    cluster.until(lambda: all(len(list(n.shards.all())) == 3 for n in cluster.nodes.values()))
    assert cluster.leader_of(ShardId("late", 1)).shards.slot_map.shards("late")[1].number == 1


def test_a_shard_that_cannot_be_opened_leaves_the_others_alone(new_cluster: NewCluster) -> None:
    cluster = new_cluster(group="toy", shards={"toy": 3})
    node = cluster.nodes["a"]
    cluster.pass_time(6.0)
    node.kill()
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
    odd.kill()
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
    late.kill()
    for shard in TOYS[1:]:
        late.notes.write(str(shard), Note())
    late.start()

    cluster.until(lambda: hosted(late) == MERGED)
    cluster.until(lambda: not any(late.log.holds(str(shard)) for shard in TOYS[1:]))
    assert not any(late.homes[shard].folders() for shard in TOYS[1:])
