from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import pytest
from quorate.apply.entries import Copies, LoggedCommand, Stamp, revision_of
from quorate.apply.outcomes import WRONG_SHARD, Outcome, Refusal
from quorate.consensus.messages import Peer
from quorate.plugin import Caller, Invalid, Rejected, ShardRef, keys
from quorate.plugin.advanced import SessionRef
from quorate.plugin.node import NODE
from quorate.plugin.shard_id import ShardId
from quorate.plugin.slots import even_cut, slot_of
from quorate.shards.refusals import (
    ExhaustedError,
    FencedError,
    NoLeaderError,
    NotProposedError,
    NotProposedInTimeError,
    OutcomeUnknownError,
    UnknownShardError,
)
from quorate.shards.router import Answer, Proposal
from quorate.shards.routing.proposing import Result
from quorate.shards.routing.slot_map import SlotMap
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.control_pb2 import CloseSession, OpenSession, OpenSessionReply, ShardRow
from quorate.v1.quota_pb2 import Quota

if TYPE_CHECKING:
    from core.tests.shards.routing.conftest import Cluster

Answering = Callable[[LoggedCommand], Outcome]
Batch = Callable[[str], Any]
SESSION = SessionRef(session=9, sequence=2, lowest_unanswered=1)
WRONG = Outcome(1, refusal=Refusal(WRONG_SHARD, "slot 1 is another's"))


def propose(cluster: Cluster, message: Any, *, on: str = "a", **options: Any) -> Any:
    return cluster.run(cluster.nodes[on].groups.propose(message, **options))


def test_the_leader_here_proposes_and_answers(cluster: Cluster, pb: Any) -> None:
    cluster.host(1)
    cluster.shard().answer = lambda _: Outcome(revision_of(7, 3), b"reply")
    message = pb.WriteNote(owner="ada")

    answer = propose(cluster, message, session=SESSION)

    assert answer.reply == b"reply"
    assert answer.revisions == {ShardId("sample", 0): revision_of(7, 3)}
    [logged] = cluster.shard().proposed
    assert logged == LoggedCommand(
        "kit_sample.v1.WriteNote",
        message.SerializeToString(),
        (slot_of(keys.pack("ada")),),
        Stamp(9, 2, 1),
        copies=Copies.DOUBTED,
    )
    assert cluster.hops == []


def test_a_refusal_is_raised(cluster: Cluster, pb: Any) -> None:
    cluster.host(1)
    cluster.shard().next = [Outcome(1, refusal=Refusal("FULL", "no room"))]
    with pytest.raises(Rejected, match="FULL: no room"):
        propose(cluster, pb.WriteNote(owner="a"))


def test_what_cannot_be_right_is_not_proposed(cluster: Cluster, pb: Any) -> None:
    cluster.host(1)
    with pytest.raises(Invalid, match="owner: must not be empty"):
        propose(cluster, pb.WriteNote())
    with pytest.raises(LookupError, match=r"kit_sample\.v1\.Note is not declared"):
        propose(cluster, pb.Note())
    assert cluster.shard().proposed == []


@pytest.mark.parametrize("asked", ["b", "c"])
def test_a_node_that_does_not_lead_forwards_one_hop(cluster: Cluster, pb: Any, asked: str) -> None:
    cluster.host(1, "ab")
    cluster.shard().answer = lambda _: Outcome(1, b"reply")
    assert propose(cluster, pb.WriteNote(owner="a"), on=asked).reply == b"reply"
    assert cluster.hops == [("a", "kit_sample.v1.WriteNote")]


def test_news_of_another_leader_are_followed_at_once(cluster: Cluster, pb: Any) -> None:
    cluster.host(1, "ab")
    cluster.shard(node="a").leads, cluster.shard(node="b").leads = False, True
    cluster.shard(node="a").leader = Peer("b", 1)
    cluster.run(cluster.nodes["c"].groups.propose(pb.WriteNote(owner="a")), until=0.001)
    assert [node for node, _ in cluster.hops] == ["a", "b"]


def test_nodes_that_name_each_other_are_not_asked_in_circles(cluster: Cluster, pb: Any) -> None:
    cluster.host(1, "ab")
    cluster.shard(node="a").leads = False
    cluster.shard(node="a").leader = Peer("b", 1)
    with pytest.raises(NotProposedInTimeError, match="safe; the last reason was: shard sample/0"):
        propose(cluster, pb.WriteNote(owner="a"), on="c", timeout_s=2.0)
    assert 5 < len(cluster.hops) < 25


def test_what_is_surely_not_proposed_is_tried_again(cluster: Cluster, pb: Any) -> None:
    cluster.host(1)
    shard = cluster.shard()
    shard.next = [NotProposedError("it was overwritten"), NoLeaderError(shard.id), Outcome(1)]
    propose(cluster, pb.WriteNote(owner="a"))
    assert len(shard.proposed) == 3


def test_a_leader_may_be_found_while_the_deadline_lasts(cluster: Cluster, pb: Any) -> None:
    cluster.host(1)
    shard = cluster.shard()
    shard.leads, shard.leader = False, None
    cluster.loop.call_later(5.0, lambda: setattr(shard, "leads", True))
    propose(cluster, pb.WriteNote(owner="a"))
    assert len(shard.proposed) == 1


@pytest.mark.parametrize("took_s", [0.0, 0.6, 1.37])
def test_a_write_is_given_up_as_soon_as_nobody_need_wait_for_a_leader(
    cluster: Cluster, pb: Any, took_s: float
) -> None:
    cluster.host(1)
    shard, began = cluster.shard(), cluster.loop.time()
    shard.leads, shard.leader = False, None
    shard.leaderless_from = began + took_s
    ended: list[float] = []

    async def attempt() -> None:
        try:
            await cluster.nodes["a"].groups.propose(pb.WriteNote(owner="a"))
        finally:
            ended.append(cluster.loop.time() - began)

    with pytest.raises(NoLeaderError, match="nothing was proposed"):
        cluster.run(attempt())
    assert took_s <= ended[0] < took_s + 0.01


@pytest.mark.parametrize(
    "error",
    [
        OutcomeUnknownError("lost"),
        ExhaustedError("full", 5),
        FencedError(ShardId("sample", 0), term=2, made_in=1),
        NotProposedInTimeError("late"),
    ],
)
def test_what_may_be_proposed_or_is_no_use_is_not_tried_again(
    cluster: Cluster, pb: Any, error: Exception
) -> None:
    cluster.host(1)
    cluster.shard().next = [error]
    with pytest.raises(type(error)):
        propose(cluster, pb.WriteNote(owner="a"))
    assert len(cluster.shard().proposed) == 1


def test_a_broken_hop_is_not_tried_again(cluster: Cluster, pb: Any) -> None:
    cluster.host(1)
    cluster.lost["a"] = OutcomeUnknownError("the connection broke")
    with pytest.raises(OutcomeUnknownError):
        propose(cluster, pb.WriteNote(owner="a"), on="b")
    assert len(cluster.hops) == 1


def test_a_member_that_cannot_be_reached_is_passed_over(cluster: Cluster, pb: Any) -> None:
    cluster.host(1, "ab")
    cluster.lost["a"] = NotProposedError("no connection")
    cluster.shard(node="b").leads = True
    propose(cluster, pb.WriteNote(owner="a"), on="c")
    assert [node for node, _ in cluster.hops] == ["a", "b"]


def test_a_shard_without_a_row_is_unknown_at_once(cluster: Cluster, pb: Any) -> None:
    with pytest.raises(UnknownShardError, match="no row for a slot of group sample"):
        cluster.run(cluster.nodes["a"].groups.propose(pb.WriteNote(owner="a")), until=0.001)


def test_a_batch_runs_on_its_shards_and_is_answered_in_its_order(
    cluster: Cluster, batch: Batch, answering: Answering
) -> None:
    cluster.host(4)
    for number in range(4):
        cluster.shard(number).answer = answering

    answer = propose(cluster, batch("hxgfedcba"))

    reply = BatchReply.FromString(answer.reply)
    assert reply == answer.batch
    assert [each.decode() for each in reply.replies] == ["h", "", *"gfedcba"]
    assert [(refusal.item, refusal.code) for refusal in reply.refusals] == [(1, "TAKEN")]
    assert answer.revisions == {ShardId("sample", n): revision_of(2, 0) for n in range(4)}
    assert all(len(cluster.shard(number).proposed) == 1 for number in range(4))


def test_a_share_that_fails_as_a_whole_refuses_its_items(
    cluster: Cluster, batch: Batch, answering: Answering
) -> None:
    cluster.host(4)
    for number in range(4):
        cluster.shard(number).answer = answering
    cluster.shard(0).next = [OutcomeUnknownError("lost")]
    cluster.shard(1).next = [ExhaustedError("full", 5)]
    cluster.shard(2).next = [Outcome(1, refusal=Refusal("FULL", "no room"))]

    answer = propose(cluster, batch("abcdefgh"))

    reply = BatchReply.FromString(answer.reply)
    of_shard = {
        number: {note.owner for note in pb_notes(cluster.shard(number).proposed[0], batch)}
        for number in range(4)
    }
    refused = {"abcdefgh"[refusal.item]: refusal.code for refusal in reply.refusals}
    expected = {0: "OUTCOME_UNKNOWN", 1: "RESOURCE_EXHAUSTED", 2: "FULL"}
    assert refused == {
        owner: code for number, code in expected.items() for owner in of_shard[number]
    }
    assert set(answer.revisions) == {ShardId("sample", 2), ShardId("sample", 3)}


def pb_notes(logged: LoggedCommand, batch: Batch) -> Any:
    return type(batch("")).FromString(logged.payload).notes


def test_a_batch_of_which_nothing_is_answered_fails_as_one(cluster: Cluster, batch: Batch) -> None:
    cluster.host(2)
    cluster.shard(0).next = [ExhaustedError("full", 5)]
    cluster.shard(1).next = [ExhaustedError("full", 5)]
    with pytest.raises(ExhaustedError):
        propose(cluster, batch("abcdefgh"))
    cluster.shard(0).next = [ExhaustedError("full", 5)]
    cluster.shard(1).next = [OutcomeUnknownError("lost")]
    with pytest.raises(OutcomeUnknownError):
        propose(cluster, batch("abcdefgh"))


def test_an_empty_batch_is_answered(cluster: Cluster, batch: Batch) -> None:
    cluster.host(2)
    assert propose(cluster, batch("")).reply == b""


def test_a_batch_that_is_ill_answered_is_a_bug_of_its_plugin(
    cluster: Cluster, batch: Batch
) -> None:
    cluster.host(1)
    with pytest.raises(
        Rejected, match=r"INTERNAL: a batch was applied, but its reply is invalid: .*items"
    ):
        propose(cluster, batch("ab"))


def test_an_operation_of_a_session_stays_in_one_shard(
    cluster: Cluster, batch: Batch, answering: Answering
) -> None:
    cluster.host(4)
    for number in range(4):
        cluster.shard(number).answer = answering
    with pytest.raises(Invalid, match=r"session: the batch goes to 4 shards \(sample/0, "):
        propose(cluster, batch("abcdefgh"), session=SESSION)
    propose(cluster, batch("a"), session=SESSION)
    assert sum(len(cluster.shard(number).proposed) for number in range(4)) == 1


def test_an_answer_that_is_not_kept_is_said_to_be_so(cluster: Cluster, batch: Batch) -> None:
    cluster.host(1)
    cluster.shard().next = [Outcome(5, forgotten=True)]
    answer = propose(cluster, batch("ab"), session=SESSION)
    assert (answer.reply, answer.forgotten) == (b"", True)


@pytest.mark.parametrize("code", ["SESSION_EXPIRED", "SESSION_SEALED", "OTHER_COMMAND"])
def test_a_batch_is_refused_by_its_session_as_a_whole(
    cluster: Cluster, batch: Batch, code: str
) -> None:
    cluster.host(1)
    cluster.shard().next = [Outcome(5, refusal=Refusal(code, "by its session"))]
    with pytest.raises(Rejected, match=f"{code}: by its session"):
        propose(cluster, batch("ab"), session=SESSION)


def test_a_share_in_the_wrong_shard_goes_where_the_new_map_says(
    cluster: Cluster, batch: Batch, answering: Answering
) -> None:
    cluster.host(4)
    cluster.nodes["a"].own_map = SlotMap.initial({"sample": 2})
    for number in range(4):
        cluster.shard(number).answer = answering
    cluster.shard(0).next = [WRONG]
    cluster.shard(1).next = [WRONG]
    cluster.loop.call_later(0.001, setattr, cluster.nodes["a"], "own_map", None)

    reply = BatchReply.FromString(propose(cluster, batch("abcdefgh")).reply)

    assert b"".join(reply.replies) == b"abcdefgh"
    assert all(cluster.shard(number).proposed for number in range(4))


def test_a_shard_that_has_not_adopted_its_slots_is_asked_again(cluster: Cluster, pb: Any) -> None:
    cluster.host(1)
    cluster.shard().next = [WRONG, WRONG, Outcome(3)]
    propose(cluster, pb.WriteNote(owner="a"), session=SESSION)
    assert len(cluster.shard().proposed) == 3
    cluster.shard().answer = lambda _: WRONG
    with pytest.raises(NotProposedInTimeError, match="refused the command: slot 1"):
        propose(cluster, pb.WriteNote(owner="a"), timeout_s=1.0)


def test_a_retry_of_a_session_goes_where_its_slots_went(cluster: Cluster, pb: Any) -> None:
    cluster.host(2)
    message = pb.WriteNote(owner="a")
    [holder] = {cluster.slot_map.place("sample", keys.pack("a"))}
    other = 1 - holder.number
    stale = SlotMap(0, [ShardRow(group="sample", number=other, slots=even_cut(1)[0])])
    cluster.nodes["a"].own_map = stale
    cluster.shard(other).next = [WRONG]
    cluster.loop.call_later(0.001, setattr, cluster.nodes["a"], "own_map", None)
    propose(cluster, message, session=SESSION)
    (there,), (here,) = cluster.shard(other).proposed, cluster.shard(holder.number).proposed
    assert there.stamp == here.stamp == Stamp(SESSION.session, SESSION.sequence, 1)


def test_a_fence_holds_in_its_term_alone(cluster: Cluster, pb: Any) -> None:
    cluster.host(1, "ab")
    fence = ShardRef("sample", 0, 1)
    propose(cluster, pb.WriteNote(owner="a"), if_leader=fence)
    cluster.shard().term = 2
    with pytest.raises(Rejected, match="ABORTED: shard 0 of sample is led in term 2, and the"):
        propose(cluster, pb.WriteNote(owner="a"), if_leader=fence)
    with pytest.raises(FencedError):
        propose(cluster, pb.WriteNote(owner="a"), on="b", if_leader=fence)
    assert (len(cluster.shard().proposed), cluster.hops) == (1, [])


def test_a_fence_on_one_shard_guards_what_goes_to_another(
    cluster: Cluster, pb: Any, batch: Batch, answering: Answering
) -> None:
    cluster.host(4)
    for number in range(4):
        cluster.shard(number).answer = answering
        cluster.shard(number).term = 5 + number
    propose(cluster, batch("abcdefgh"), if_leader=ShardRef("sample", 1, 6))
    cluster.shard(1).term = 7
    with pytest.raises(FencedError):
        propose(cluster, batch("abcdefgh"), if_leader=ShardRef("sample", 1, 6))
    cluster.shard(1).term, cluster.shard(1).leads = 6, False
    with pytest.raises(FencedError):
        propose(cluster, batch("abcdefgh"), if_leader=ShardRef("sample", 1, 6))
    assert all(len(cluster.shard(number).proposed) == 1 for number in range(4))


def test_sessions_are_opened_and_closed_on_the_shard_of_a_key(cluster: Cluster) -> None:
    cluster.host(4)
    holder = cluster.shard(cluster.slot_map.place("sample", b"k").number)
    holder.answer = lambda _: Outcome(1, OpenSessionReply(session=77).SerializeToString())
    groups = cluster.nodes["b"].groups

    assert cluster.run(groups.open_session("sample", b"k", ttl_ms=5_000)) == 77
    assert cluster.run(groups.open_session("sample", b"k", name="load/1")) == 77
    cluster.run(groups.close_session("sample", b"k", 77))

    opened, named, closed = holder.proposed
    assert OpenSession.FromString(opened.payload) == OpenSession(ttl_ms=5_000)
    assert OpenSession.FromString(named.payload) == OpenSession(name="load/1", most=10_000)
    assert CloseSession.FromString(closed.payload) == CloseSession(session=77)
    assert all(each.slotless for each in holder.proposed)
    with pytest.raises(Invalid, match="ttl_ms: a session without a name"):
        cluster.run(groups.open_session("sample", b"k"))


def test_core_proposes_its_own_commands_alone_without_a_slot(cluster: Cluster, pb: Any) -> None:
    cluster.host(1)
    with pytest.raises(LookupError, match="not one of core's own commands"):
        cluster.run(cluster.nodes["a"].groups.propose_control(ShardId("sample", 0), pb.EraseNote()))


def test_what_is_forwarded_goes_no_second_hop_and_is_judged_again(
    cluster: Cluster, pb: Any
) -> None:
    cluster.host(1, "ab")
    shard = ShardId("sample", 0)

    def forwarded(message: Any) -> LoggedCommand:
        return LoggedCommand(
            message.DESCRIPTOR.full_name,
            message.SerializeToString(),
            (slot_of(keys.pack(message.owner)),),
        )

    def accepted(node: str, *messages: Any) -> list[Result]:
        sent = [forwarded(each) for each in messages]
        deadlines = [cluster.loop.time() + 1.0] * len(sent)
        return cluster.run(cluster.nodes[node].groups.accept(shard, sent, deadlines))

    [follower] = accepted("b", pb.WriteNote(owner="a"))
    assert isinstance(follower, NoLeaderError)
    assert follower.leader == Peer("a", 1)
    [stranger] = accepted("c", pb.WriteNote(owner="a"))
    assert isinstance(stranger, NoLeaderError)
    invalid, good = accepted("a", pb.WriteNote(), pb.WriteNote(owner="a"))
    assert isinstance(invalid, Invalid)
    assert invalid.field == "owner"
    assert isinstance(good, Outcome)
    assert cluster.hops == []


def propose_many(cluster: Cluster, messages: list[Any], on: str = "a") -> list[Any]:
    groups = cluster.nodes[on].groups
    deadline = groups.deadline()
    proposals = [Proposal(message, deadline) for message in messages]
    return cast("list[Any]", cluster.run(groups.propose_many(proposals)))


@pytest.mark.parametrize("asked", ["a", "b"])
def test_many_commands_come_to_each_shard_at_once(cluster: Cluster, pb: Any, asked: str) -> None:
    cluster.host(4)
    for number in range(4):
        cluster.shard(number).answer = lambda logged: Outcome(1, logged.payload)
    messages = [pb.WriteNote(owner=str(number)) for number in range(1_000)]

    answers = propose_many(cluster, messages, asked)

    assert [answer.reply for answer in answers] == [each.SerializeToString() for each in messages]
    assert [len(cluster.shard(number).calls) for number in range(4)] == [1] * 4
    assert len(cluster.hops) == (4 if asked == "b" else 0)


def test_many_commands_do_not_share_their_fate(
    cluster: Cluster, pb: Any, batch: Batch, answering: Answering
) -> None:
    cluster.host(1)
    shard = cluster.shard()
    refused = Outcome(1, refusal=Refusal("FULL", "no room"))

    def answer(logged: LoggedCommand) -> Outcome:
        if logged.type != "kit_sample.v1.WriteNote":
            return answering(logged)
        owner = pb.WriteNote.FromString(logged.payload).owner
        return refused if owner == "full" else Outcome(1, owner.encode())

    shard.answer = answer
    found = propose_many(
        cluster,
        [
            pb.WriteNote(owner="a"),
            pb.WriteNote(),
            pb.WriteNote(owner="full"),
            pb.Note(),
            batch("xyz"),
            batch(""),
            pb.WriteNote(owner="b"),
        ],
    )

    assert [type(each) for each in found] == [
        Answer,
        Invalid,
        Rejected,
        LookupError,
        Answer,
        Answer,
        Answer,
    ]
    assert found[0].reply == b"a"
    assert BatchReply.FromString(found[4].reply).items == 3
    assert (found[5].reply, found[6].reply) == (b"", b"b")
    assert [count for count, _ in shard.calls] == [4]


def test_of_many_only_what_was_surely_not_proposed_is_tried_again(
    cluster: Cluster, pb: Any
) -> None:
    cluster.host(1)
    shard = cluster.shard()
    shard.most = 1
    shard.next = [NotProposedError("it was overwritten"), Outcome(1), OutcomeUnknownError("lost")]

    found = propose_many(cluster, [pb.WriteNote(owner=owner) for owner in "abcd"])

    assert [type(each) for each in found] == [Answer, Answer, OutcomeUnknownError, Answer]
    owners = [pb.WriteNote.FromString(each.payload).owner for each in shard.proposed]
    assert owners == [*"abcda"]


def test_large_commands_travel_in_several_runs(cluster: Cluster, pb: Any) -> None:
    cluster.host(1)
    messages = [pb.WriteNote(owner=owner, text="x" * 400_000) for owner in "abcde"]

    propose_many(cluster, messages, "b")

    assert sorted(len(run) for run in cluster.forwarded) == [1, 2, 2]


def test_a_node_is_not_charged(cluster: Cluster, pb: Any) -> None:
    cluster.host(1)
    groups, ada = cluster.nodes["a"].groups, Caller(name="ada")
    row = Quota(kind="identity", name="ada", commands_per_s=1)
    groups.quotas.put("tenant.quotas", keys.pack(row.kind, row.name), row.SerializeToString())

    async def propose_all() -> None:
        for caller in (NODE, NODE, ada):
            await groups.propose(pb.WriteNote(owner="a"), caller=caller)
        with pytest.raises(ExhaustedError, match="quota commands_per_s"):
            await groups.propose(pb.WriteNote(owner="a"), caller=ada)

    cluster.run(propose_all())
