"""What nodes ask of each other, through real connections."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import grpc.aio
import pytest
from quorate.apply.entries import Copies, LoggedCommand, revision_of
from quorate.apply.outcomes import Outcome, Refusal
from quorate.consensus.messages import Peer
from quorate.consensus.peer.network import OTHER_CLUSTER, OTHER_TARGET, OTHER_TOKEN
from quorate.consensus.peer.wire import encode_handshake
from quorate.plugin import Access, Invalid, Rejected
from quorate.plugin.access import Open, Rights
from quorate.plugin.advanced import Grant, Stub
from quorate.plugin.needs import Need
from quorate.plugin.services import Method
from quorate.plugin.shard_id import ShardId
from quorate.plugin.slots import slot_of
from quorate.rpc.asking import NodeClocks, NodeMembership, NodeMemberSteps
from quorate.rpc.channels import PEER_KEY
from quorate.rpc.node_service import PART_BYTES, parts
from quorate.shards.refusals import (
    NoLeaderError,
    NotProposedError,
    NotProposedInTimeError,
    OutcomeUnknownError,
    UnansweredInTimeError,
    UnreadableError,
)
from quorate.shards.routing.forwarding import Asked, AsOf, ForwardedQuery
from quorate.topology.changes.members import AskedStep, Goal, StepTaken
from quorate.v1 import node_pb2

if TYPE_CHECKING:
    from core.tests.rpc.conftest import FakeReplica, Node, Told

SHARD = ShardId("sample", 0)
#: A command, and its timeout in seconds.
Timed = tuple[LoggedCommand, float]
METHODS = {
    "Forward": node_pb2.ForwardRequest(),
    "Query": node_pb2.ShardQueryRequest(shard="sample/0"),
    "Membership": node_pb2.MembershipRequest(shard="sample/0"),
    "ChangeMember": node_pb2.ChangeMemberRequest(shard="sample/0", node="c"),
    "Clock": node_pb2.ClockRequest(),
}


@pytest.fixture
def forwarded(sample: Any) -> Callable[..., Timed]:
    def make(owner: str = "a", timeout_s: float = 5.0) -> Timed:
        message = sample.pb.WriteNote(owner=owner)
        slots = (slot_of(sample.note_key(owner)),)
        command = LoggedCommand(
            message.DESCRIPTOR.full_name,
            message.SerializeToString(),
            slots,
            copies=Copies.DOUBTED,
            caller="ada",
        )
        return command, timeout_s

    return make


@pytest.fixture
def query(pb: Any) -> ForwardedQuery:
    return ForwardedQuery(
        shard=SHARD,
        type="kit_sample.v1.ListNotes",
        payload=b"",
        row="kit_sample.v1.Note",
        consistency="stale",
        min_revision=0,
        timeout_s=5.0,
    )


@pytest.fixture
async def stub(nodes: dict[str, Node]) -> AsyncIterator[Any]:
    async with grpc.aio.insecure_channel(nodes["a"].address) as channel:
        yield Stub(channel, node_pb2.DESCRIPTOR.services_by_name["NodeService"])


async def ask(stub: Any, method: str, request: Any, metadata: Any) -> Any:
    asked = iter([request]) if method == "Forward" else request
    call = getattr(stub, method)(asked, timeout=10, metadata=metadata)
    return [each async for each in call] if method in ("Forward", "Query") else await call


async def forward(nodes: dict[str, Node], node: str, request: Timed) -> Outcome:
    command, timeout_s = request
    deadline = asyncio.get_running_loop().time() + timeout_s
    [result] = await nodes["b"].forwarder.propose(node, SHARD, [command], [deadline])
    if isinstance(result, Exception):
        raise result
    return result


# Identity.


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("shown", [None, b"", b"\xff\xff"])
async def test_who_shows_no_handshake_is_refused(
    stub: Any,
    leader: FakeReplica,
    told: Callable[[Any], Told],
    method: str,
    shown: bytes | None,
) -> None:
    metadata = () if shown is None else ((PEER_KEY, shown),)

    with pytest.raises(grpc.aio.AioRpcError) as failed:
        await ask(stub, method, METHODS[method], metadata)

    found = told(failed.value)
    assert (found.code, found.field) == (grpc.StatusCode.INVALID_ARGUMENT, PEER_KEY)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("reason", [OTHER_TOKEN, OTHER_CLUSTER, OTHER_TARGET])
async def test_a_stranger_is_refused(
    nodes: dict[str, Node], stub: Any, method: str, reason: str
) -> None:
    handshake = nodes["b"].network.handshake("a")
    strange = {
        OTHER_TOKEN: replace(handshake, token_hash=b"another"),
        OTHER_CLUSTER: replace(handshake, cluster=b"another"),
        OTHER_TARGET: replace(handshake, target="c"),
    }[reason]

    with pytest.raises(grpc.aio.AioRpcError) as failed:
        await ask(stub, method, METHODS[method], ((PEER_KEY, encode_handshake(strange)),))

    assert failed.value.code() is grpc.StatusCode.PERMISSION_DENIED
    assert failed.value.details() == reason


@pytest.mark.parametrize("method", ["Query", "Membership", "ChangeMember"])
@pytest.mark.parametrize("shard", ["", "sample", "sample/-1", "x" * 3_000])
async def test_a_shard_without_a_proper_name(
    nodes: dict[str, Node], stub: Any, told: Callable[[Any], Told], method: str, shard: str
) -> None:
    request = type(METHODS[method])(shard=shard)
    shown = encode_handshake(nodes["b"].network.handshake("a"))

    with pytest.raises(grpc.aio.AioRpcError) as failed:
        await ask(stub, method, request, ((PEER_KEY, shown),))

    found = told(failed.value)
    assert (found.code, found.field) == (grpc.StatusCode.INVALID_ARGUMENT, "shard")


# Commands.


@pytest.mark.parametrize("shard", ["", "sample", "sample/-1", "x" * 3_000])
async def test_a_part_for_a_shard_without_a_proper_name_is_refused_alone(
    nodes: dict[str, Node], stub: Any, told: Callable[[Any], Told], shard: str
) -> None:
    command = node_pb2.ForwardedCommand(timeout_ms=5_000)
    command.command.type, command.command.slotless = "a.Stranger", True
    request = node_pb2.ForwardRequest(
        parts=[
            node_pb2.ForwardedPart(id=number, shard=name, commands=[command])
            for number, name in ((7, shard), (8, "sample/0"))
        ]
    )
    shown = encode_handshake(nodes["b"].network.handshake("a"))

    responses = await ask(stub, "Forward", request, ((PEER_KEY, shown),))

    fields = {
        part.id: [told(answer.status).field for answer in part.answers]
        for response in responses
        for part in response.parts
    }
    assert fields == {7: ["shard"], 8: ["type"]}


async def test_a_command_is_proposed_by_the_leader(
    nodes: dict[str, Node], leader: FakeReplica, forwarded: Callable[..., Timed]
) -> None:
    leader.answer = lambda logged: Outcome(revision_of(3, 1), b"r", None, True)

    assert await forward(nodes, "a", forwarded()) == Outcome(revision_of(3, 1), b"r", None, True)
    assert leader.proposed == [forwarded()[0]]


async def test_a_refusal_of_a_handler_is_an_outcome(
    nodes: dict[str, Node], leader: FakeReplica, forwarded: Callable[..., Timed]
) -> None:
    refused = Outcome(revision_of(3, 0), b"", Refusal("WRONG_SHARD", "moved"))
    leader.answer = lambda logged: refused

    assert await forward(nodes, "a", forwarded()) == refused


async def test_commands_of_one_turn_share_a_call_and_fail_alone(
    nodes: dict[str, Node],
    leader: FakeReplica,
    forwarded: Callable[..., Timed],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls = []
    route = nodes["b"].channels.route

    async def counted(node: str, timeout_s: float) -> Any:
        calls.append(node)
        return await route(node, timeout_s)

    monkeypatch.setattr(nodes["b"].channels, "route", counted)
    leader.errors = {forwarded("x")[0].payload: OutcomeUnknownError("lost")}

    found = await asyncio.gather(
        *(forward(nodes, "a", forwarded(owner)) for owner in "axb"),
        return_exceptions=True,
    )

    assert [type(each) for each in found] == [Outcome, OutcomeUnknownError, Outcome]
    assert calls == ["a"]


async def test_a_bug_of_the_other_node_leaves_the_outcome_unknown(
    nodes: dict[str, Node], leader: FakeReplica, forwarded: Callable[..., Timed]
) -> None:
    leader.errors = {forwarded()[0].payload: ZeroDivisionError("a bug")}

    with pytest.raises(OutcomeUnknownError, match="a bug"):
        await forward(nodes, "a", forwarded())


async def test_who_does_not_lead_says_who_does(
    nodes: dict[str, Node], leader: FakeReplica, forwarded: Callable[..., Timed]
) -> None:
    leader.leads, leader.leader = False, Peer("c", 2**64 - 1)

    with pytest.raises(NoLeaderError) as failed:
        await forward(nodes, "a", forwarded())

    assert failed.value.leader == Peer("c", 2**64 - 1)


async def test_a_node_that_is_not_there_was_sent_nothing(
    nodes: dict[str, Node], forwarded: Callable[..., Timed], query: ForwardedQuery
) -> None:
    await nodes["a"].server.stop(0)

    with pytest.raises(NotProposedError):
        # It is refused at once, and not waited for.
        await asyncio.wait_for(forward(nodes, "a", forwarded()), 2)
    with pytest.raises(NotProposedError):
        await forward(nodes, "unknown", forwarded())
    with pytest.raises(UnreadableError):
        await nodes["b"].forwarder.query("a", query)


async def test_a_channel_is_reused_until_the_address_is_another(nodes: dict[str, Node]) -> None:
    channels = nodes["b"].channels

    first = (await channels.route("a", 5)).channel
    assert (await channels.route("a", 5)).channel is first

    nodes["b"].network.know({"a": nodes["b"].address})
    assert (await channels.route("a", 5)).channel is not first


async def test_a_node_that_dies_under_a_command_may_have_logged_it(
    nodes: dict[str, Node], leader: FakeReplica, forwarded: Callable[..., Timed]
) -> None:
    leader.waits = asyncio.Event()
    proposing = asyncio.ensure_future(forward(nodes, "a", forwarded()))
    async with asyncio.timeout(10):
        while not leader.proposed:
            await asyncio.sleep(0)
    await nodes["a"].server.stop(0)

    with pytest.raises(OutcomeUnknownError):
        await proposing


async def test_a_channel_that_is_closed_under_a_command_leaves_no_one_waiting(
    nodes: dict[str, Node], leader: FakeReplica, forwarded: Callable[..., Timed]
) -> None:
    leader.waits = asyncio.Event()
    proposing = asyncio.ensure_future(forward(nodes, "a", forwarded()))
    async with asyncio.timeout(10):
        while not leader.proposed:
            await asyncio.sleep(0)
    await nodes["b"].channels.close()

    with pytest.raises(OutcomeUnknownError):
        await asyncio.wait_for(proposing, 10)


async def test_a_late_answer_is_told_from_a_command_that_never_left(
    nodes: dict[str, Node], leader: FakeReplica, forwarded: Callable[..., Timed]
) -> None:
    leader.waits = asyncio.Event()

    with pytest.raises(UnansweredInTimeError):
        await forward(nodes, "a", forwarded(timeout_s=0.2))
    with pytest.raises((NotProposedInTimeError, NotProposedError)):
        await forward(nodes, "a", forwarded(timeout_s=0.0))

    assert len(leader.proposed) == 1


async def test_what_the_other_refuses_as_a_whole_was_not_proposed(
    nodes: dict[str, Node], leader: FakeReplica, forwarded: Callable[..., Timed]
) -> None:
    nodes["b"].network.join(b"another cluster")

    with pytest.raises(NotProposedError, match=OTHER_CLUSTER):
        await forward(nodes, "a", forwarded())

    assert not leader.proposed


async def test_the_leader_checks_again(
    nodes: dict[str, Node], leader: FakeReplica, forwarded: Callable[..., Timed]
) -> None:
    with pytest.raises(Invalid, match="owner"):
        await forward(nodes, "a", forwarded(""))

    assert not leader.proposed


# Queries.


async def test_a_query_is_answered_with_its_rows(
    nodes: dict[str, Node], leader: FakeReplica, query: ForwardedQuery, pb: Any
) -> None:
    assert await nodes["b"].forwarder.query("a", query) == (AsOf(7, 40), [])

    notes = [pb.Note(owner=str(count), text="x" * 500_000) for count in range(5)]
    stored = [note.SerializeToString() for note in notes]
    leader.rows = [SimpleNamespace(key=b"", value=each, revision=1) for each in stored]

    linearizable = replace(query, consistency="linearizable")
    assert await nodes["b"].forwarder.query("a", linearizable) == (AsOf(7, 0), stored)


def test_rows_travel_in_parts() -> None:
    rows = [bytes([number]) * (PART_BYTES // 2) for number in range(5)]

    assert parts([]) == [[]]
    assert [len(part) for part in parts(rows)] == [2, 2, 1]
    assert [row for part in parts(rows) for row in part] == rows


class Reader(Open):
    """Knows ada, who reads notes of a."""

    def __init__(self, enabled: bool | None) -> None:
        self.enabled = enabled

    def rights(self, name: str) -> Rights:
        granted = Grant(right="read", domain="sample", prefix="a")
        return Rights(name, (granted,) if name == "ada" else ())


@pytest.mark.parametrize(
    ("enabled", "caller", "owner", "method", "refused"),
    [
        (True, "ada", "a", "Get", ""),
        (True, "ada", "b", "Get", "PERMISSION_DENIED: ada needs read on sample at 'b'"),
        (True, "eve", "a", "Get", "PERMISSION_DENIED: eve needs read on sample at 'a'"),
        (True, "ada", "a", "New", "PERMISSION_DENIED: ada needs the method /sample.Notes/New"),
        (True, "ada", "b", "Put", "PERMISSION_DENIED: ada needs write on sample"),
        (False, "eve", "b", "Get", ""),
        (None, "ada", "a", "Get", "does not know its callers yet"),
    ],
)
async def test_who_reads_through_another_node_is_asked_again(
    nodes: dict[str, Node],
    leader: FakeReplica,
    query: ForwardedQuery,
    pb: Any,
    enabled: bool | None,
    caller: str,
    owner: str,
    method: str,
    refused: str,
) -> None:
    guard = nodes["a"].guard
    guard._authority = Reader(enabled)  # type: ignore[misc]
    for name, right in (("Get", "read"), ("Put", "write")):
        made = Method(name, f"/sample.Notes/{name}", "unary_unary", pb.WriteNote, pb.WriteNote)
        guard.of(made, Need(Access(right=right, key="owner"), "sample", name == "Put"))  # type: ignore[arg-type]
    asked = Asked(caller, f"/sample.Notes/{method}", pb.WriteNote(owner=owner))

    with pytest.raises((Rejected, UnreadableError)) if refused else nullcontext() as raised:
        await nodes["b"].forwarder.query("a", replace(query, asked=asked))
    assert refused in str(raised.value if raised else "")
    # What the other node reads for itself nobody is asked for.
    await nodes["b"].forwarder.query("a", query)


async def test_a_query_that_is_unknown_or_damaged_is_invalid(
    nodes: dict[str, Node], leader: FakeReplica, query: ForwardedQuery
) -> None:
    with pytest.raises(Invalid, match="type"):
        await nodes["b"].forwarder.query("a", replace(query, type="no.such"))
    with pytest.raises(Invalid, match="query"):
        await nodes["b"].forwarder.query("a", replace(query, payload=b"\xff\xff"))


async def test_a_node_without_a_replica_cannot_be_read(
    nodes: dict[str, Node], query: ForwardedQuery
) -> None:
    nodes["a"].replicas.clear()

    with pytest.raises(UnreadableError, match="no replica"):
        await nodes["b"].forwarder.query("a", query)


# Membership and clocks.


async def test_membership_is_told(nodes: dict[str, Node]) -> None:
    asking = NodeMembership(nodes["b"].channels, nodes["b"].loop)

    assert await asking.ask(SHARD, "a") == nodes["a"].membership
    nodes["a"].membership = None
    assert await asking.ask(SHARD, "a") is None
    await nodes["a"].server.stop(0)
    assert await asking.ask(SHARD, "a") is None
    await asking.stop()


async def test_only_some_memberships_are_asked_for_at_a_time(nodes: dict[str, Node]) -> None:
    asking = NodeMembership(nodes["b"].channels, nodes["b"].loop)
    asked = [asking.ask(SHARD, "a") for _ in range(1_000)]
    assert sum(1 for each in asked if not each.done()) == 16
    answers = await asyncio.gather(*asked)
    assert [each for each in answers if each is not None] == [nodes["a"].membership] * 16

    assert await asking.ask(SHARD, "a") == nodes["a"].membership
    await asking.stop()


async def test_whoever_was_removed_is_told_the_members_and_nothing_else(
    nodes: dict[str, Node], stub: Any
) -> None:
    handshake = nodes["b"].network.handshake("a")
    for removed in (Peer("b", 99), Peer("z", 1)):
        shown = ((PEER_KEY, encode_handshake(replace(handshake, peer=removed))),)
        answer = await ask(stub, "Membership", METHODS["Membership"], shown)
        assert answer.index == 5
        for method in METHODS.keys() - {"Membership"}:
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await ask(stub, method, METHODS[method], shown)
            assert refused.value.code() is grpc.StatusCode.PERMISSION_DENIED


async def test_a_step_is_taken_by_the_leader(nodes: dict[str, Node]) -> None:
    steps = NodeMemberSteps(nodes["b"].channels)
    for goal in (Goal("c", 3), Goal("c", None)):
        asked = AskedStep(shard=SHARD, goal=goal, number=7, timeout_s=5.0)
        assert await steps.change_member("a", asked) == StepTaken("learner")
        taken = nodes["a"].steps[-1]
        assert (taken.shard, taken.goal, taken.number) == (SHARD, goal, 7)
        # As long as the caller waits, not as long as an answer without a deadline.
        assert 0 < taken.timeout_s < 6.0
    nodes["a"].step = StepTaken("voter", done=True)
    assert await steps.change_member("a", asked) == StepTaken("voter", done=True)


@pytest.mark.parametrize(
    "error",
    [
        NoLeaderError(SHARD, Peer("b", 2)),
        NotProposedError("nothing was changed"),
        OutcomeUnknownError("who knows"),
        Rejected("NO_MAJORITY", "it is the last"),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_why_a_step_is_not_taken_comes_back(nodes: dict[str, Node], error: Exception) -> None:
    nodes["a"].step = error
    asked = AskedStep(shard=SHARD, goal=Goal("c", 3), number=7, timeout_s=5.0)
    with pytest.raises(type(error)) as raised:
        await NodeMemberSteps(nodes["b"].channels).change_member("a", asked)
    assert str(raised.value) == str(error)
    assert vars(raised.value) == vars(error)


async def test_a_step_that_nobody_answers(nodes: dict[str, Node]) -> None:
    steps = NodeMemberSteps(nodes["b"].channels)
    asked = AskedStep(shard=SHARD, goal=Goal("c", 3), number=7, timeout_s=0.3)
    waits = asyncio.Event()

    async def stuck(_: AskedStep) -> StepTaken:
        await waits.wait()
        return StepTaken("too late")

    nodes["a"].take_step = stuck
    with pytest.raises(UnansweredInTimeError, match="before a had changed a member"):
        await steps.change_member("a", asked)
    with pytest.raises(NotProposedError, match="no address of gone is known"):
        await steps.change_member("gone", asked)


async def test_clocks_are_heard_and_carried_on(nodes: dict[str, Node]) -> None:
    clocks = NodeClocks(nodes["b"].channels, lambda: ["a", "gone"], nodes["b"].loop, every_s=0.01)
    assert clocks("a") is None

    clocks.start()
    async with asyncio.timeout(10):
        while clocks("a") is None:
            await asyncio.sleep(0)
        first = clocks("a")
        assert first is not None
        assert 1_000_000 <= first < 1_010_000
        nodes["a"].wall_ms = 5_000_000
        while (clocks("a") or 0) < 5_000_000:
            await asyncio.sleep(0)
    await clocks.stop()
    assert clocks("gone") is None


async def test_nodes_are_asked_at_once_whether_they_answer(nodes: dict[str, Node]) -> None:
    clocks = NodeClocks(nodes["b"].channels, lambda: ["a", "gone"], nodes["b"].loop, every_s=1e9)

    # It does not say which replica it is, as nodes of older releases.
    assert await clocks.ask() == {"a": 0}
    await nodes["a"].server.stop(0)
    assert await clocks.ask() == {}
