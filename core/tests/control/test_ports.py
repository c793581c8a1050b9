"""Timers and spreading over three replicas of a real shard, on virtual time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import pytest
from google.protobuf.message import Message as Proto
from google.protobuf.struct_pb2 import ListValue
from google.protobuf.wrappers_pb2 import Int64Value, StringValue
from quorate.consensus.messages import Append
from quorate.control.leader_balance import Leadership, leadership_of, ready_of
from quorate.control.timers import Timers
from quorate.plugin import ColumnFamily, Command, ShardRef, Timer, Txn
from quorate.plugin.catalog import Catalog, assemble
from quorate.plugin.declared import Declared
from quorate.plugin.discovery import Plugin

from core.tests.steered import Cluster, Node, logged

ROWS = "toy.brokers"
TIMER = "toy.liveness"
TTL_MS = 10_000


# A plugin: a name is a heartbeat, and a list of names is who is overdue.


def beat(txn: Txn, command: StringValue) -> None:
    key, deadline_ms = command.value.encode(), txn.proposed_at_ms + TTL_MS
    txn.put(ROWS, key, Int64Value(value=deadline_ms).SerializeToString())
    txn.schedule(TIMER, key, deadline_ms, ttl_ms=TTL_MS)


def expire(txn: Txn, command: ListValue) -> None:
    for name in command:
        key = str(name).encode()
        row = txn.get(ROWS, key)
        if row is not None and Int64Value.FromString(row).value <= txn.proposed_at_ms:
            txn.delete(ROWS, key)
            txn.schedule(TIMER, key, None)


def overdue(keys: Sequence[bytes]) -> Proto:
    found = ListValue()
    found.extend([key.decode() for key in keys])
    return found


LIVENESS = Timer(name=TIMER, group="metadata", due=overdue, liveness=True)


def _command(message: type[Proto], apply: Callable[[Txn, Any], None]) -> Command[Any]:
    return Command(
        message=message,
        group="metadata",
        examples=(message(),),
        apply=apply,
        shard_key=lambda _: b"",
    )


def catalog() -> Catalog:
    return assemble(
        [
            Declared(
                plugin=Plugin(name="toy", distribution="toy", version="1", module=None),
                all=(
                    ColumnFamily(name=ROWS, group="metadata", row=Int64Value),
                    _command(StringValue, beat),
                    _command(ListValue, expire),
                    LIVENESS,
                ),
            )
        ]
    )


class Timed:
    """Three nodes, each with the timers of what it leads."""

    def __init__(self) -> None:
        self.cluster = Cluster(catalog=catalog())
        #: By node: what its timers proposed, and for which shard and term.
        self.proposed: dict[str, list[tuple[Proto, ShardRef]]] = {}
        for node in self.cluster.nodes.values():
            self.proposed[node.name] = []
            propose = partial(self._propose, node)
            timers = Timers([LIVENESS], node.shards.leading, propose, loop=node.loop)
            node.run(timers.start)

    async def _propose(self, node: Node, message: Proto, ref: ShardRef) -> None:
        self.proposed[node.name].append((message, ref))
        await node.metadata.propose([logged(message, slotless=True)], term=ref.term)

    def beat(self, name: str) -> None:
        self.cluster.propose(logged(StringValue(value=name), slotless=True))

    def brokers(self, node: Node) -> set[str]:
        reader = node.metadata.store_reader(frozenset((ROWS,)))
        return {row.key.decode() for row in reader.scan(ROWS, b"", b"\xff", limit=100)}

    def leaderships(self) -> dict[str, Leadership]:
        return {
            name: leadership_of(node.metadata)._replace(ready=ready_of(node.metadata))
            for name, node in self.cluster.nodes.items()
        }


@pytest.fixture
def timed() -> Iterator[Timed]:
    made = Timed()
    yield made
    made.cluster.world.dispose()


def test_who_is_silent_expires_and_who_renews_does_not(timed: Timed) -> None:
    cluster = timed.cluster
    timed.beat("silent")
    for _ in range(8):
        timed.beat("loud")
        cluster.pass_time(3.0)

    assert [timed.brokers(node) for node in cluster.nodes.values()] == [{"loud"}] * 3
    assert [due for due, _ in timed.proposed[cluster.leader.name]] == [overdue([b"silent"])]


def test_a_leader_that_was_paused_loses_its_office_and_the_next_one_waits(timed: Timed) -> None:
    cluster = timed.cluster
    timed.beat("x")
    cluster.pass_time(1.0)
    paused = cluster.leader
    paused.loop.pause()
    cluster.pass_time(2.0)
    successor = next(
        node for node in cluster.nodes.values() if node is not paused and node.metadata.leads
    )
    cluster.pass_time(7.8)
    # Its deadline has passed, and the new leader has not led for a whole time to live.
    assert "x" in timed.brokers(successor)

    cluster.pass_time(2.0)
    assert "x" not in timed.brokers(successor)
    cluster.pass_time(20.0)
    paused.loop.resume()
    cluster.pass_time(1.0)

    assert timed.proposed[paused.name] == []
    [(_, ref)] = timed.proposed[successor.name]
    assert ref == ShardRef("metadata", 0, successor.metadata.term)


def test_a_whole_cluster_that_was_paused_expires_nobody_who_could_not_renew(timed: Timed) -> None:
    cluster = timed.cluster
    timed.beat("x")
    cluster.pass_time(1.0)
    for node in cluster.nodes.values():
        node.loop.pause()
    cluster.pass_time(3.0 * TTL_MS / 1_000)
    for node in cluster.nodes.values():
        node.loop.resume()
    cluster.pass_time(5.0)
    timed.beat("x")
    cluster.pass_time(8.0)

    assert timed.brokers(cluster.leader) == {"x"}
    assert list(timed.proposed.values()) == [[], [], []]


def test_only_the_leader_knows_who_could_take_over(timed: Timed) -> None:
    leader = timed.cluster.leader.name
    found = timed.leaderships()

    assert {each.leader for each in found.values()} == {leader}
    assert {name: each.ready for name, each in found.items()} == {
        name: frozenset("abc") - {leader} if name == leader else frozenset() for name in "abc"
    }


def test_a_follower_that_is_behind_or_silent_could_not(timed: Timed) -> None:
    cluster = timed.cluster
    leader = cluster.leader.name
    behind, sound = sorted(set("abc") - {leader})
    cluster.passes = lambda message: (
        not (
            message.target.node == behind
            and isinstance(message.body, Append)
            and bool(message.body.entries)
        )
    )
    timed.beat("x")
    cluster.pass_time(0.3)
    assert timed.leaderships()[leader].ready == {sound}

    cluster.passes = lambda message: message.source.node != sound
    cluster.pass_time(1.5)
    assert sound not in timed.leaderships()[leader].ready
