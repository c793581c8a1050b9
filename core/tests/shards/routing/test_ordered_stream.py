"""The commands of a stream, in their order for each shard."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from quorate.apply.entries import LoggedCommand
from quorate.apply.outcomes import WRONG_SHARD, Outcome, Refusal
from quorate.consensus.messages import Peer
from quorate.plugin import Invalid, keys
from quorate.plugin.slots import even_cut
from quorate.shards.refusals import (
    ExhaustedError,
    NoLeaderError,
    NotProposedError,
    NotProposedInTimeError,
    OutcomeUnknownError,
    WrongShardError,
)
from quorate.shards.router import Answer, Proposal
from quorate.shards.routing.forwarding import RUN_BYTES
from quorate.shards.routing.ordered_stream import OrderedStream
from quorate.shards.routing.slot_map import SlotMap
from quorate.v1.control_pb2 import ShardRow

if TYPE_CHECKING:
    from core.tests.shards.routing.conftest import Cluster, FakeShard


class Stream:
    """A stream that is put on a node, and what came of its commands."""

    def __init__(self, cluster: Cluster, pb: Any, on: str = "a") -> None:
        self.cluster = cluster
        self.pb = pb
        self.groups = cluster.nodes[on].groups
        self.ordered: OrderedStream = self.groups.ordered()
        self.answers: dict[str, Answer | Exception] = {}
        #: In the order in which they were answered.
        self.order: list[str] = []

    def put(self, owners: str, timeout_s: float = 5.0, text: str = "") -> None:
        deadline = self.groups.deadline(timeout_s)
        for owner in owners:
            message = self.pb.WriteNote(owner=owner, text=text)
            self.ordered.put(Proposal(message, deadline), self.answered(owner))

    def answered(self, owner: str) -> Callable[[Answer | Exception], None]:
        def take(answer: Answer | Exception) -> None:
            assert owner not in self.answers, "answered twice"
            self.answers[owner] = answer
            self.order.append(owner)

        return take

    def run(self, seconds: float = 0.001) -> None:
        self.cluster.world.run(self.cluster.world.now + seconds)

    def ends(self) -> dict[str, str]:
        return {
            owner: "ok" if isinstance(answer, Answer) else type(answer).__name__
            for owner, answer in self.answers.items()
        }


@pytest.fixture
def owners_of(pb: Any) -> Callable[[FakeShard], str]:
    def read(shard: FakeShard) -> str:
        return "".join(pb.WriteNote.FromString(each.payload).owner for each in shard.proposed)

    return read


@pytest.mark.parametrize("on", ["a", "b"])
def test_what_comes_meanwhile_is_the_next_run(
    cluster: Cluster, pb: Any, owners_of: Callable[[FakeShard], str], on: str
) -> None:
    cluster.host(1)
    shard, stream = cluster.shard(), Stream(cluster, pb, on)
    shard.held = []

    stream.put("abc")
    stream.run()
    stream.put("d")
    stream.put("ef")
    stream.run()
    assert [count for count, _ in shard.calls] == [3]
    shard.held.pop()()
    stream.run()
    assert stream.order == [*"abc"]
    assert [count for count, _ in shard.calls] == [3, 3]
    shard.held.pop()()
    stream.run()

    assert owners_of(shard) == "abcdef"
    assert set(stream.ends().values()) == {"ok"}
    assert len(cluster.hops) == (2 if on == "b" else 0)


def test_a_shard_does_not_wait_for_another(cluster: Cluster, pb: Any) -> None:
    cluster.host(4)
    stream = Stream(cluster, pb)
    slow = cluster.shard(cluster.slot_map.place("sample", keys.pack("a")).number)
    slow.held = []
    stream.put("abcdefghij")
    stream.run()
    waiting = set("abcdefghij") - set(stream.order)
    assert "a" in waiting
    assert 0 < len(stream.order) < 10
    assert {cluster.slot_map.place("sample", keys.pack(each)) for each in waiting} == {slow.id}
    cluster.run(stream.ordered.close())


def test_a_run_is_bounded(cluster: Cluster, pb: Any) -> None:
    cluster.host(1)
    stream = Stream(cluster, pb, "b")
    stream.put("abcde", text="x" * (RUN_BYTES // 3))
    stream.run()
    assert [len(each) for each in cluster.forwarded] == [2, 2, 1]
    assert set(stream.ends().values()) == {"ok"}


def test_one_that_cannot_be_right_is_answered_at_once(cluster: Cluster, pb: Any) -> None:
    cluster.host(1)
    stream = Stream(cluster, pb)
    deadline = stream.groups.deadline()
    stream.ordered.put(Proposal(pb.WriteNote(), deadline), stream.answered("bad"))
    assert isinstance(stream.answers["bad"], Invalid)
    stream.put("a")
    stream.run()
    assert stream.ends() == {"bad": "Invalid", "a": "ok"}


def test_while_there_is_no_leader_nothing_overtakes(
    cluster: Cluster, pb: Any, owners_of: Callable[[FakeShard], str]
) -> None:
    cluster.host(1)
    shard, stream = cluster.shard(), Stream(cluster, pb)
    shard.leads, shard.leader = False, None
    stream.put("ab")
    stream.run(0.5)
    stream.put("c")
    cluster.loop.call_later(0.5, setattr, shard, "leads", True)
    stream.run(1.5)
    assert owners_of(shard) == "abc"
    assert stream.order == [*"abc"]


def test_a_new_leader_is_followed_with_the_whole_run(
    cluster: Cluster, pb: Any, owners_of: Callable[[FakeShard], str]
) -> None:
    cluster.host(1, "ab")
    cluster.shard(node="a").leads, cluster.shard(node="b").leads = False, True
    cluster.shard(node="a").leader = Peer("b", 1)
    stream = Stream(cluster, pb, "c")
    stream.put("abc")
    stream.run()
    assert [node for node, _ in cluster.hops] == ["a", "b"]
    assert [len(run) for run in cluster.forwarded] == [3, 3]
    assert owners_of(cluster.shard(node="b")) == "abc"


@pytest.mark.parametrize(
    ("behind", "tries"),
    [(OutcomeUnknownError("lost"), "abcd"), (Invalid("a", "wrong"), "abcdabc")],
)
def test_nothing_is_tried_again_behind_what_may_be_logged(
    cluster: Cluster,
    pb: Any,
    owners_of: Callable[[FakeShard], str],
    behind: Exception,
    tries: str,
) -> None:
    cluster.host(1)
    shard, stream = cluster.shard(), Stream(cluster, pb)
    gone = NotProposedError("it was overwritten")
    shard.most = 1
    shard.next = [gone, gone, gone, behind]
    stream.put("abcd")
    stream.run(1.0)
    assert owners_of(shard) == tries
    assert stream.ends()["a"] == ("NotProposedError" if tries == "abcd" else "ok")


def test_what_stands_behind_is_tried_again(
    cluster: Cluster, pb: Any, owners_of: Callable[[FakeShard], str]
) -> None:
    cluster.host(1)
    shard, stream = cluster.shard(), Stream(cluster, pb)
    gone = NotProposedError("it was overwritten")
    shard.most = 1
    shard.next = [gone, Outcome(1), gone, gone]
    stream.put("abcd")
    stream.run(1.0)
    assert owners_of(shard) == "abcd" + "cd"
    assert stream.ends() == {"a": "NotProposedError", "b": "ok", "c": "ok", "d": "ok"}


def test_a_full_shard_refuses_the_rest_of_a_run(
    cluster: Cluster, pb: Any, owners_of: Callable[[FakeShard], str]
) -> None:
    cluster.host(1)
    shard, stream = cluster.shard(), Stream(cluster, pb)
    shard.room = 2
    stream.put("abcd")
    stream.run(1.0)
    assert owners_of(shard) == "ab"
    assert stream.ends() == {"a": "ok", "b": "ok", "c": "ExhaustedError", "d": "ExhaustedError"}
    assert isinstance(stream.answers["c"], ExhaustedError)


def test_who_waits_behind_a_run_for_too_long_is_told_in_time(cluster: Cluster, pb: Any) -> None:
    cluster.host(1)
    shard, stream = cluster.shard(), Stream(cluster, pb)
    shard.held = []
    stream.put("a", timeout_s=50.0)
    stream.run()
    stream.put("b", timeout_s=50.0)
    stream.put("c", timeout_s=1.0)
    stream.run(1.1)
    assert stream.ends() == {"c": "NotProposedInTimeError"}
    with pytest.raises(NotProposedInTimeError, match=r"waited after others of its stream"):
        raise stream.answers["c"]  # type: ignore[misc]
    cluster.run(stream.ordered.close())


def test_a_deadline_passes_while_there_is_no_leader(cluster: Cluster, pb: Any) -> None:
    cluster.host(1)
    shard, stream = cluster.shard(), Stream(cluster, pb)
    shard.leads, shard.leader = False, None
    stream.put("a", timeout_s=1.0)
    stream.put("b", timeout_s=3.0)
    stream.run(1.1)
    assert stream.ends() == {"a": "NotProposedInTimeError"}
    shard.leads = True
    stream.run(1.0)
    assert stream.ends()["b"] == "ok"


def test_a_slot_that_is_elsewhere_now_is_said_to_be_so(cluster: Cluster, pb: Any) -> None:
    cluster.host(2)
    stream = Stream(cluster, pb)
    right = cluster.slot_map.place("sample", keys.pack("a")).number
    stale = SlotMap(0, [ShardRow(group="sample", number=1 - right, slots=even_cut(1)[0])])
    cluster.nodes["a"].own_map = stale
    wrong = Outcome(1, refusal=Refusal(WRONG_SHARD, "it is another's"))
    cluster.shard(1 - right).answer = lambda _: wrong
    cluster.loop.call_later(0.001, setattr, cluster.nodes["a"], "own_map", None)
    stream.put("a")
    stream.run(1.0)
    assert isinstance(stream.answers["a"], WrongShardError)
    assert cluster.shard(right).proposed == []


def test_a_batch_of_a_stream_is_answered_as_one(
    cluster: Cluster,
    pb: Any,
    batch: Callable[[str], Any],
    answering: Callable[[LoggedCommand], Outcome],
) -> None:
    cluster.host(4)
    for number in range(4):
        cluster.shard(number).answer = answering
    stream = Stream(cluster, pb)
    proposal = Proposal(batch("hgfedcba"), stream.groups.deadline())
    stream.ordered.put(proposal, stream.answered("batch"))
    stream.run()
    answer = stream.answers["batch"]
    assert isinstance(answer, Answer)
    assert len(answer.revisions) == 4


def test_what_is_closed_proposes_nothing_more(
    cluster: Cluster, pb: Any, owners_of: Callable[[FakeShard], str]
) -> None:
    cluster.host(1)
    shard, stream = cluster.shard(), Stream(cluster, pb)
    shard.held = []
    stream.put("a")
    stream.run()
    stream.put("b")
    cluster.run(stream.ordered.close())
    assert owners_of(shard) == "a"
    assert stream.answers == {}


def test_no_leader_is_no_leader_until_the_deadline(cluster: Cluster, pb: Any) -> None:
    cluster.host(1)
    shard, stream = cluster.shard(), Stream(cluster, pb)
    shard.answer = lambda _: Outcome(1)
    shard.next = [NoLeaderError(shard.id)] * 3
    stream.put("a")
    stream.run(1.0)
    assert stream.ends() == {"a": "ok"}
    assert len(shard.proposed) == 4
