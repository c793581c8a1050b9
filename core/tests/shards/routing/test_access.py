"""Whether callers may send commands: asked where they enter, and again where the shard is led."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from quorate.apply.entries import LoggedCommand, revision_of
from quorate.apply.outcomes import Outcome
from quorate.plugin import Access, Caller, Rejected
from quorate.plugin.access import Open, Rights, all_rights
from quorate.plugin.advanced import Grant
from quorate.plugin.catalog import Catalog
from quorate.shards.router import Answer, Proposal
from quorate.v1 import control_pb2
from quorate.v1.batch_pb2 import BatchReply

from core.tests.shards.routing.conftest import Cluster

ADA = Caller(name="ada")


class Asking(Open):
    """Knows ada, who has these grants."""

    def __init__(self, *grants: Grant) -> None:
        self.enabled: bool | None = True
        self.grants = grants

    def rights(self, name: str) -> Rights:
        if name == "root":
            return all_rights(name)
        return Rights(name, self.grants if name == "ada" else ())


def write(prefix: str) -> Grant:
    return Grant(right="write", domain="sample", prefix=prefix)


NewCluster = Callable[..., Cluster]


@pytest.fixture
def asking(catalog: Catalog, pb: Any, answering: Callable[[LoggedCommand], Outcome]) -> NewCluster:
    """Return clusters with shards on node a, whose nodes b and a have these authorities."""
    batch = replace(
        catalog.commands["kit_sample.v1.WriteNotes"],
        public=True,
        access=Access(right="write", key="owner"),
    )
    commands = {**catalog.commands, "kit_sample.v1.WriteNotes": batch}
    sample = catalog.declared["sample"]
    declared = {"sample": replace(sample, all=tuple(commands.values()))}
    changed = replace(catalog, commands=commands, declared=declared)

    def make(here: Asking, leader: Asking | None = None, shards: int = 1) -> Cluster:
        cluster = Cluster(changed, {"b": here, "a": leader or here})
        cluster.host(shards)
        for number in range(shards):
            cluster.shard(number).answer = lambda logged: (
                answering(logged) if logged.type.endswith("s") else Outcome(revision_of(2, 0))
            )
        return cluster

    return make


def propose(cluster: Cluster, message: Any, caller: Caller = ADA, **options: Any) -> Any:
    return cluster.run(cluster.nodes["b"].groups.propose(message, caller=caller, **options))


@pytest.mark.parametrize("shards", [1, 5])
def test_items_that_the_caller_may_not_send_are_refused_in_their_places(
    asking: NewCluster, batch: Callable[[str], Any], shards: int
) -> None:
    cluster = asking(Asking(write("a"), write("c"), write("x")), shards=shards)

    reply = BatchReply.FromString(propose(cluster, batch("abcxaa")).reply)

    assert reply.items == 6
    assert list(reply.replies) == [b"a", b"", b"c", b"", b"", b""]
    assert [(each.item, each.code) for each in reply.refusals] == [
        (1, "PERMISSION_DENIED"),
        (3, "TAKEN"),
        (4, "INVALID_ARGUMENT"),
        (5, "INVALID_ARGUMENT"),
    ]
    assert reply.refusals[0].message.startswith("ada needs write on sample at 'b': ")
    owners = {
        note.owner
        for number in range(shards)
        for logged in cluster.shard(number).proposed
        for note in type(batch("a")).FromString(logged.payload).notes
    }
    assert owners == {"a", "c", "x"}


@pytest.mark.parametrize("owners", ["b", "bb", ""])
def test_a_batch_of_which_nothing_is_left_is_refused(
    asking: NewCluster, batch: Callable[[str], Any], owners: str
) -> None:
    cluster = asking(Asking(write("a")))

    with pytest.raises(Rejected, match="PERMISSION_DENIED: ada needs write on sample"):
        propose(cluster, batch(owners))

    assert not cluster.shard().proposed


@pytest.mark.parametrize(
    ("caller", "code"),
    [
        (Caller(name="eve"), "PERMISSION_DENIED"),
        (Caller(), "UNAUTHENTICATED"),
        (Caller(name="ada"), ""),
        (Caller(node=True), ""),
        # A port of a plugin has let her in.
        (Caller(name="eve", node=True), ""),
    ],
)
def test_every_way_in_asks_who_sends(
    asking: NewCluster, pb: Any, caller: Caller, code: str
) -> None:
    cluster = asking(Asking(write("a")))
    groups, note = cluster.nodes["b"].groups, pb.WriteNote(owner="a")
    streamed: list[Answer | Exception] = []
    ordered = groups.ordered(caller=caller)

    ordered.put(Proposal(note, groups.deadline()), streamed.append)
    found = cluster.run(groups.propose_many([Proposal(note, groups.deadline())], caller=caller))
    try:
        found.append(propose(cluster, note, caller))
    except Rejected as refusal:
        found.append(refusal)

    assert [getattr(each, "code", "") for each in (*streamed, *found)] == [code] * 3
    sent = [each.caller for each in cluster.shard().proposed]
    assert sent == ([] if code else [caller.name] * 3)


@pytest.mark.parametrize(
    ("caller", "opens", "ends"),
    [
        (ADA, "ada", "ada"),
        (Caller(name="root"), "root", ""),
        (Caller(node=True), "", ""),
    ],
)
def test_a_session_is_of_who_opens_it_and_administrators_may_end_it(
    asking: NewCluster, caller: Caller, opens: str, ends: str
) -> None:
    cluster = asking(Asking(write("a")))
    groups = cluster.nodes["a"].groups
    cluster.shard().next = [Outcome(1)] * 3

    cluster.run(groups.open_session("sample", b"", name="load", caller=caller))
    cluster.run(groups.seal_session("sample", b"", "load", caller=caller))
    cluster.run(groups.close_session("sample", b"", 7, caller=caller))

    opened, sealed, closed = (each.payload for each in cluster.shard().proposed)
    assert control_pb2.OpenSession.FromString(opened).owner == opens
    assert control_pb2.SealSession.FromString(sealed).caller == ends
    assert control_pb2.CloseSession.FromString(closed).caller == ends


@pytest.mark.parametrize(
    ("caller", "code"),
    [(Caller(name="eve"), "PERMISSION_DENIED"), (Caller(), "UNAUTHENTICATED")],
)
def test_a_session_needs_a_right_to_write_in_its_group(
    asking: NewCluster, caller: Caller, code: str
) -> None:
    cluster = asking(Asking(write("a")))
    groups = cluster.nodes["a"].groups

    for asked in (
        groups.open_session("sample", b"", name="load", caller=caller),
        groups.open_session("sample", b"", ttl_ms=5_000, caller=caller),
        groups.seal_session("sample", b"", "load", caller=caller),
        groups.close_session("sample", b"", 7, caller=caller),
    ):
        with pytest.raises(Rejected, match=code):
            cluster.run(asked)
    assert not cluster.shard().proposed


def test_the_leader_asks_again(asking: NewCluster, pb: Any) -> None:
    cluster = asking(Asking(write("a")), leader=Asking())

    with pytest.raises(Rejected, match="PERMISSION_DENIED: ada needs write on sample at 'a'"):
        propose(cluster, pb.WriteNote(owner="a"))

    assert cluster.hops
    assert not cluster.shard().proposed


def test_a_leader_that_knows_nobody_yet_has_the_command_sent_again(
    asking: NewCluster, pb: Any
) -> None:
    leader = Asking(write("a"))
    leader.enabled = None
    cluster = asking(Asking(write("a")), leader=leader)
    cluster.loop.call_later(0.5, setattr, leader, "enabled", True)

    propose(cluster, pb.WriteNote(owner="a"))

    assert len(cluster.shard().proposed) == 1


def test_what_a_service_proposes_by_itself_is_its_own(asking: NewCluster, pb: Any) -> None:
    cluster = asking(Asking())

    propose(cluster, pb.EraseNote(owner="a"))

    assert len(cluster.shard().proposed) == 1
