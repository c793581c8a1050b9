"""A family of metadata that the commands of another group read."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from google.protobuf.wrappers_pb2 import BytesValue, StringValue, UInt64Value
from quorate.apply.entries import Copies, LoggedCommand, whole
from quorate.apply.mirrors import MirrorPosition
from quorate.apply.outcomes import Outcome
from quorate.plugin import ColumnFamily, Command, RaftGroup, Rejected, Txn
from quorate.plugin.catalog import Catalog, assemble
from quorate.plugin.declared import Declared
from quorate.plugin.discovery import Plugin
from quorate.plugin.shard_id import ShardId
from quorate.shards.refusals import UnreadableError
from quorate.shards.routing.proposing import Result, propose_in_order
from quorate.shards.timing import pause
from quorate.shards.watching.mirrors import Mirrors
from quorate.shards.watching.watch import Watch
from quorate.shards.watching.watches import Watches
from quorate.v1 import control_pb2

if TYPE_CHECKING:
    from core.tests.steered import Cluster, Node

METADATA, KV = ShardId("metadata", 0), ShardId("kv", 0)
FACTS = "toy.facts"


def set_fact(txn: Txn, command: StringValue) -> None:
    """`key=value` sets, `key` deletes, several are parted by blanks."""
    for part in command.value.split():
        key, told, value = part.partition("=")
        if told:
            txn.put(FACTS, key.encode(), StringValue(value=value).SerializeToString())
        else:
            txn.delete(FACTS, key.encode())


def ask_fact(txn: Txn, command: BytesValue) -> StringValue:
    found = txn.get(FACTS, command.value)
    return StringValue.FromString(found) if found else StringValue(value="none")


def catalog() -> Catalog:
    return assemble(
        [
            Declared(
                plugin=Plugin(name="toy", distribution="toy", version="1", module=None),
                all=(
                    RaftGroup(name="kv"),
                    ColumnFamily(name=FACTS, group="metadata", row=StringValue, mirrored=True),
                    Command(
                        message=StringValue,
                        group="metadata",
                        examples=(StringValue(),),
                        shard_key=lambda _: b"",
                        apply=set_fact,
                    ),
                    Command(
                        message=UInt64Value,
                        group="kv",
                        examples=(UInt64Value(),),
                        shard_key=lambda _: b"",
                        apply=demand_fact,
                        reads=(FACTS,),
                    ),
                    Command(
                        message=BytesValue,
                        group="kv",
                        examples=(BytesValue(),),
                        shard_key=lambda _: b"",
                        apply=ask_fact,
                        reads=(FACTS,),
                    ),
                ),
            )
        ]
    )


def demand_fact(txn: Txn, command: UInt64Value) -> StringValue:
    """Answer the fact of a number, and refuse one that is not known."""
    found = txn.get(FACTS, str(command.value).encode())
    if found is None:
        txn.refresh(FACTS)
        raise Rejected("NOT_FOUND", "no such fact")
    return StringValue.FromString(found)


class Nowhere:
    def open(self, *_: object) -> Any:
        raise AssertionError("every shard is here")


class Site:
    """Three nodes, each of which keeps the copy in kv/0."""

    def __init__(self, cluster: Cluster, new_command: Callable[..., LoggedCommand]) -> None:
        self.cluster = cluster
        self.new_command = new_command
        #: What the leader proposed.
        self.adopted: list[control_pb2.AdoptMirror] = []
        #: Whether the next watch that resumes finds its history gone.
        self.history_gone = False
        #: So much later does what was proposed for the copies come to the shard.
        self.lag_s = 0.0
        #: Whether nobody can say how far the source is.
        self.source_lost = False
        #: How often that was asked.
        self.asked = 0
        self.mirrors: dict[str, Mirrors] = {}
        for node in cluster.nodes.values():
            self.keep(node)

    def keep(self, node: Node) -> None:
        """Let a node keep its copies."""
        watches, other = (
            Watches(cluster, node.shards.get, Nowhere().open, loop=node.loop)
            for cluster in (b"c", b"other")
        )

        def open_watch(family: str, token: bytes) -> Watch:
            opener = watches
            if self.history_gone and token:
                self.history_gone, opener = False, other
            return opener.open({family: b""}, (METADATA,), token)

        async def newest(timeout_s: float) -> int:
            self.asked += 1
            if self.source_lost:
                raise UnreadableError("lost")
            return whole(await node.metadata.read_barrier(timeout_s))

        shard = node[KV]
        propose = shard._proposer.propose

        async def late(commands: Any, **options: Any) -> Any:
            await pause(node.loop, self.lag_s)
            return await propose(commands, **options)

        def noted(commands: Any, **options: Any) -> Any:
            if self.lag_s and commands[0].type == control_pb2.AdoptMirror.DESCRIPTOR.full_name:
                return node.loop.create_task(late(commands, **options))
            proposed = propose(commands, **options)
            self.adopted += (
                control_pb2.AdoptMirror.FromString(command.payload)
                for command in commands
                if command.type == control_pb2.AdoptMirror.DESCRIPTOR.full_name
            )
            return proposed

        vars(shard)["propose"] = noted
        mirrors = self.mirrors[node.name] = Mirrors(node.catalog, open_watch, newest, node.loop)
        mirrors.start(b"c")
        node.mirrors = mirrors
        node.loop.post(0.0, partial(node.shards.on_open, mirrors.keep))

    def set(self, text: str) -> None:
        self.cluster.propose(self.new_command(StringValue(value=text)))

    def ask(self, key: str) -> str:
        """Ask a handler of kv/0 what it sees."""
        proposal = self.cluster.proposal(
            self.cluster.leader_of(KV),
            self.new_command(BytesValue(value=key.encode())),
            shard=KV,
        )
        [outcome] = self.cluster.result(proposal)
        assert outcome.refusal is None
        return StringValue.FromString(outcome.reply).value

    def demand(self, *numbers: int, timeouts: Sequence[float] = ()) -> list[Result]:
        """Have a handler of kv/0 answer facts, or refuse them, as commands of clients."""
        leader = self.cluster.leader_of(KV)
        commands = [
            self.new_command(UInt64Value(value=number))._replace(copies=Copies.DOUBTED)
            for number in numbers
        ]
        now = leader.loop.time()
        deadlines = [now + timeout_s for timeout_s in timeouts or [20.0] * len(numbers)]
        proposing = propose_in_order(leader[KV], commands, deadlines, leader.loop.time)
        return self.cluster.result(leader.loop.create_task(proposing))

    def copies(self) -> list[dict[str, str]]:
        """What each replica of kv/0 holds."""
        return [
            {
                key.decode(): StringValue.FromString(value[8:]).value
                for key, value in node[KV].data.iterate(FACTS, b"", None)
            }
            for node in self.cluster.nodes.values()
        ]

    def until_copied(self, **facts: str) -> None:
        self.cluster.until(lambda: all(copy == facts for copy in self.copies()))

    def position(self) -> MirrorPosition | None:
        return self.cluster.leader_of(KV)[KV].applier.mirror_position(FACTS)


@pytest.fixture
def site(
    new_cluster: Callable[..., Cluster], new_command: Callable[..., LoggedCommand]
) -> Iterator[Site]:
    cluster = new_cluster(catalog=catalog())
    yield Site(cluster, new_command)
    cluster.world.dispose()


def test_every_replica_gets_the_rows_and_their_changes(site: Site) -> None:
    site.set("a=1 b=2")
    site.until_copied(a="1", b="2")
    assert site.ask("a") == "1"

    site.set("a=3 c=4")
    site.set("b")
    site.until_copied(a="3", c="4")
    assert site.ask("b") == "none"


@pytest.mark.parametrize("listed", [True, False])
def test_rows_keep_the_revision_of_their_source(site: Site, listed: bool) -> None:
    if listed:
        leader = site.cluster.leader_of(KV)
        site.cluster.result(leader.loop.create_task(site.mirrors[leader.name].stop()))
    site.set("a=1")
    if listed:
        source = site.cluster.leader.metadata
        site.cluster.until(lambda: leader.metadata.applied >= source.applied)
        site.history_gone = True
        site.keep(leader)
    site.until_copied(a="1")
    stored = [
        dict(node[shard].data.iterate(FACTS, b"", None))
        for node in site.cluster.nodes.values()
        for shard in (METADATA, KV)
    ]

    assert all(rows == stored[0] for rows in stored)


def test_a_new_leader_goes_on_where_the_last_one_was(site: Site) -> None:
    site.set("a=1")
    site.until_copied(a="1")
    before = site.position()
    assert before is not None
    leader = site.cluster.leader_of(KV)
    site.cluster.isolate(leader)
    site.cluster.until(
        lambda: any(node[KV].leads for node in site.cluster.nodes.values() if node is not leader)
    )
    site.adopted.clear()
    site.set("b=2")
    site.cluster.heal()
    site.until_copied(a="1", b="2")

    after = site.position()
    assert after is not None
    assert after > before
    assert not any(adopt.reset for adopt in site.adopted)


def test_what_was_deleted_while_history_was_lost_goes(site: Site) -> None:
    site.set("a=1 b=2")
    site.until_copied(a="1", b="2")
    leader = site.cluster.leader_of(KV)
    stopping = leader.loop.create_task(site.mirrors[leader.name].stop())
    site.cluster.result(stopping)
    site.set("a c=3")
    site.history_gone = True
    site.adopted.clear()
    site.keep(leader)
    site.until_copied(b="2", c="3")

    assert not site.history_gone
    assert [adopt.reset for adopt in site.adopted] == [True]


def adopt(site: Site, revision: int, **facts: str) -> None:
    """Bring the copy to a revision, as an earlier leader would have."""
    command = control_pb2.AdoptMirror(family=FACTS, revision=revision, reset=True)
    for key, value in facts.items():
        row = StringValue(value=value).SerializeToString()
        command.rows.add(key=key.encode(), value=row, revision=revision)
    site.cluster.result(
        site.cluster.proposal(
            site.cluster.leader_of(KV), site.new_command(command, slotless=True), shard=KV
        )
    )


@pytest.mark.parametrize("history_gone", [True, False])
def test_a_copy_never_goes_back(site: Site, history_gone: bool) -> None:
    """The source lags behind what an earlier leader has seen: the copy waits for it."""
    site.set("a=1")
    site.until_copied(a="1")
    leader = site.cluster.leader_of(KV)
    site.cluster.result(leader.loop.create_task(site.mirrors[leader.name].stop()))
    ahead = (site.cluster.leader.metadata.applied + 3 << 20) - 1
    adopt(site, ahead, a="9")
    site.history_gone = history_gone
    site.keep(leader)
    site.cluster.pass_time(2.0)
    assert site.copies() == [{"a": "9"}] * 3

    site.set("a=5")
    site.set("a=6")
    site.set("a=7")
    site.until_copied(a="7")


def test_a_copy_that_is_too_large_is_said(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    leader = site.cluster.leader_of(KV)
    site.cluster.result(leader.loop.create_task(site.mirrors[leader.name].stop()))
    for number in range(25):
        site.set(f"k{number}={'v' * 1_000_000}")
    site.cluster.until(lambda: leader.metadata.applied >= site.cluster.leader.metadata.applied)
    with caplog.at_level(logging.ERROR):
        site.keep(leader)
        site.cluster.until(lambda: "cannot update the copy of toy.facts" in caplog.text)


def told(results: Sequence[Result]) -> list[str]:
    """The replies, and the codes of the refusals."""
    return [
        type(each).__name__
        if not isinstance(each, Outcome)
        else each.refusal.code
        if each.refusal is not None
        else StringValue.FromString(each.reply).value
        for each in results
    ]


def test_what_was_answered_is_known_to_the_next_command_anywhere(site: Site) -> None:
    site.lag_s = 0.5
    for number in range(3):
        site.set(f"{number}=yes")
        assert not any(str(number) in copy for copy in site.copies())
        assert told(site.demand(number)) == ["yes"]
    assert site.asked == 3


def test_what_is_not_there_is_refused_and_the_others_go_on_in_their_order(site: Site) -> None:
    site.set("1=yes 3=yes")
    results = site.demand(1, 2, 3, 4, 1)
    assert told(results) == ["yes", "NOT_FOUND", "yes", "NOT_FOUND", "yes"]
    revisions = [each.revision for each in results if isinstance(each, Outcome)]
    assert revisions == sorted(revisions)
    assert site.asked == 1


def test_a_new_leader_knows_what_was_answered_before(site: Site) -> None:
    site.set("1=yes")
    leader = site.cluster.leader_of(KV)
    site.cluster.isolate(leader)
    site.cluster.until(
        lambda: any(node[KV].leads for node in site.cluster.nodes.values() if node is not leader)
    )
    site.set("2=yes")
    site.cluster.heal()
    assert told(site.demand(2, 3, 1)) == ["yes", "NOT_FOUND", "yes"]


def test_nothing_is_said_to_be_missing_while_nobody_knows(site: Site) -> None:
    site.set("1=yes")
    site.until_copied(**{"1": "yes"})
    site.source_lost = True
    assert told(site.demand(1, 2, 1)) == ["yes", "UNAVAILABLE", "yes"]


def test_a_copy_that_nobody_keeps_up_is_waited_for_a_while(site: Site) -> None:
    leader = site.cluster.leader_of(KV)
    site.cluster.result(leader.loop.create_task(site.mirrors[leader.name].stop()))
    site.set("1=yes")
    assert told(site.demand(1)) == ["UNAVAILABLE"]


def test_what_has_overtaken_is_never_undone(site: Site) -> None:
    """Commands with another deadline are a write of their own, which is evaluated all the same."""
    site.set("1=yes")
    site.until_copied(**{"1": "yes"})
    assert told(site.demand(2, 1, timeouts=[20.0, 10.0])) == ["COPY_BEHIND", "yes"]
