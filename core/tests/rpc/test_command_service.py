from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

import grpc.aio
import pytest
from quorate.apply.entries import Stamp, revision_of
from quorate.apply.outcomes import Outcome, Refusal
from quorate.plugin import Fence
from quorate.plugin.advanced import Stub
from quorate.shards.refusals import ExhaustedError, OutcomeUnknownError
from quorate.v1 import command_pb2, control_pb2, entry_pb2
from quorate.v1.command_pb2 import (
    CloseSessionRequest,
    Command,
    ExecuteRequest,
    ExecuteResponse,
    OpenSessionRequest,
)

if TYPE_CHECKING:
    from core.tests.rpc.conftest import FakeReplica, Node, Told

NOTE = "kit_sample.v1.WriteNote"


@pytest.fixture(params=["a", "b"])
async def stub(request: Any, nodes: dict[str, Node]) -> AsyncIterator[Any]:
    """The service of the leader, and of a node that forwards."""
    async with grpc.aio.insecure_channel(nodes[request.param].address) as channel:
        yield Stub(channel, command_pb2.DESCRIPTOR.services_by_name["CommandService"])


@pytest.fixture
def note(pb: Any) -> Callable[[str], Command]:
    def make(owner: str) -> Command:
        return Command(type=NOTE, payload=pb.WriteNote(owner=owner).SerializeToString())

    return make


async def test_commands_are_answered_in_their_order(
    stub: Any, leader: FakeReplica, note: Callable[[str], Command]
) -> None:
    commands = [note(owner) for owner in "abcde"]

    response = await stub.Execute(ExecuteRequest(commands=commands), timeout=10)

    assert [each.reply.payload for each in response.answers] == [each.payload for each in commands]
    assert {each.reply.revisions[0].revision for each in response.answers} <= {
        revision_of(count, 0) for count in range(1, 6)
    }
    assert [each.type for each in leader.proposed] == [NOTE] * 5


async def test_one_that_fails_does_not_hide_the_others(
    stub: Any,
    leader: FakeReplica,
    note: Callable[[str], Command],
    told: Callable[[Any], Told],
) -> None:
    good, refused, full, lost = (note(owner) for owner in ("good", "refused", "full", "lost"))
    leader.answer = lambda logged: Outcome(
        revision_of(1, 0),
        b"done",
        Refusal("ALREADY_EXISTS", "it is there") if logged.payload == refused.payload else None,
    )
    leader.errors = {
        full.payload: ExhaustedError("the queue is full", 250),
        lost.payload: OutcomeUnknownError("lost"),
    }

    request = ExecuteRequest(commands=[refused, full, good, lost, Command(type="no.such")])
    response = await stub.Execute(request, timeout=10)

    assert [each.WhichOneof("result") for each in response.answers] == [
        "status",
        "status",
        "reply",
        "status",
        "status",
    ]
    assert response.answers[2].reply.payload == b"done"
    found = [told(response.answers[position].status) for position in (0, 1, 3, 4)]
    assert [each.reason for each in found] == [
        "ALREADY_EXISTS",
        "EXHAUSTED",
        "OUTCOME_UNKNOWN",
        "INVALID",
    ]
    assert [each.metadata.get("retry", "") for each in found] == ["", "safe", "session", ""]


async def test_a_stamp_a_fence_and_a_deadline_come_to_the_leader(
    stub: Any, leader: FakeReplica, note: Callable[[str], Command]
) -> None:
    command = note("a")
    command.stamp.CopyFrom(entry_pb2.Stamp(session=9, sequence=2, lowest_unanswered=1))
    command.fence.CopyFrom(entry_pb2.Fence(name=b"lock", token=7))

    await stub.Execute(ExecuteRequest(commands=[command]), timeout=25)

    assert leader.proposed[0].stamp == Stamp(9, 2, 1)
    assert leader.proposed[0].fence == Fence(b"lock", 7)
    assert leader.timeouts == [pytest.approx(25, abs=5)]


async def test_an_operation_whose_answer_is_not_kept_is_told(
    stub: Any, leader: FakeReplica, note: Callable[[str], Command]
) -> None:
    leader.answer = lambda _: Outcome(revision_of(1, 0), b"", forgotten=True)
    command = note("a")
    command.stamp.CopyFrom(entry_pb2.Stamp(session=9, sequence=2, lowest_unanswered=1))

    response = await stub.Execute(ExecuteRequest(commands=[command]), timeout=10)

    [answer] = response.answers
    assert answer.WhichOneof("result") == "reply"
    assert answer.reply.forgotten
    assert [each.revision for each in answer.reply.revisions] == [revision_of(1, 0)]


async def test_a_call_of_no_command_is_answered_with_nothing(stub: Any) -> None:
    assert await stub.Execute(ExecuteRequest(), timeout=10) == ExecuteResponse()


async def test_a_call_of_too_many_commands(
    stub: Any, leader: FakeReplica, note: Callable[[str], Command], told: Callable[[Any], Told]
) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as failed:
        await stub.Execute(ExecuteRequest(commands=[note("a")] * 21), timeout=10)

    found = told(failed.value)
    assert (found.code, found.field) == (grpc.StatusCode.INVALID_ARGUMENT, "commands")
    assert not leader.proposed


@pytest.mark.parametrize(
    ("command", "field"),
    [
        (Command(), "type"),
        (Command(type="kit_sample.v1.NoSuch"), "type"),
        (Command(type="quorate.v1.RaiseGeneration"), "type"),
        (Command(type="kit_sample.v1.EraseNote"), "type"),
        (Command(type=NOTE, payload=b"\xff\xff"), "payload"),
        (Command(type=NOTE, payload=b"\x0a\xff"), "payload"),
        (Command(type=NOTE, payload=b"\x0a\x01a\x12\xb4\x10" + b"x" * 2_100), "payload"),
        (Command(type=NOTE, payload=b"\x0a\x01a", stamp={"sequence": 1}), "stamp"),
        (Command(type=NOTE, payload=b"\x0a\x01a", stamp={"session": 1}), "stamp"),
        (Command(type=NOTE, payload=b"\x0a\x01a", fence={"name": b"lock"}), "fence"),
        (Command(type=NOTE, payload=b"\x0a\x01a", fence={"token": 1}), "fence"),
        (
            Command(type=NOTE, payload=b"\x0a\x01a", fence={"name": bytes(1_025), "token": 1}),
            "fence",
        ),
        (Command(type=NOTE), "owner"),
        (Command(type=NOTE, payload=b"\x0a\x01a\x12\xe9\x07" + b"x" * 1_001), "text"),
    ],
)
async def test_bad_input_is_named_and_nothing_is_logged(
    stub: Any,
    leader: FakeReplica,
    told: Callable[[Any], Told],
    command: Command,
    field: str,
) -> None:
    response = await stub.Execute(ExecuteRequest(commands=[command]), timeout=10)

    found = told(response.answers[0].status)
    assert (found.code, found.field) == (grpc.StatusCode.INVALID_ARGUMENT, field)
    assert not leader.proposed


async def test_what_is_not_declared_public_is_told_apart_from_what_is_unknown(
    stub: Any, told: Callable[[Any], Told]
) -> None:
    commands = [Command(type="kit_sample.v1.EraseNote"), Command(type="kit_sample.v1.NoSuch")]

    response = await stub.Execute(ExecuteRequest(commands=commands), timeout=10)

    texts = [told(each.status).text for each in response.answers]
    assert "internal" in texts[0]
    assert "not known" in texts[1]


async def test_the_commands_of_a_call_share_their_way_to_the_shard(
    stub: Any, leader: FakeReplica, note: Callable[[str], Command]
) -> None:
    await stub.Execute(ExecuteRequest(commands=[note(str(n)) for n in range(20)]), timeout=10)

    assert leader.calls == [20]


async def test_each_command_may_have_less_time_than_the_call(
    stub: Any, leader: FakeReplica, note: Callable[[str], Command]
) -> None:
    hasty, patient, plain = note("a"), note("b"), note("c")
    hasty.timeout_ms, patient.timeout_ms = 10_000, 60_000

    await stub.Execute(ExecuteRequest(commands=[hasty, patient, plain]), timeout=25)

    assert [pytest.approx(each, abs=5) for each in leader.timeouts] == [10, 25]
    assert leader.calls == [1, 2]


async def test_without_any_deadline_the_nodes_own_holds(
    stub: Any, leader: FakeReplica, note: Callable[[str], Command]
) -> None:
    await stub.Execute(ExecuteRequest(commands=[note("a")]))
    await stub.Execute(ExecuteRequest(commands=[note("a")]), timeout=100)

    assert [pytest.approx(each, abs=5) for each in leader.timeouts] == [60, 60]


async def test_a_session_is_opened_and_closed(stub: Any, leader: FakeReplica) -> None:
    leader.answer = lambda logged: Outcome(
        revision_of(1, 0), control_pb2.OpenSessionReply(session=7).SerializeToString()
    )

    opened = await stub.OpenSession(
        OpenSessionRequest(group="sample", shard_key=b"k", ttl_ms=5_000), timeout=10
    )
    await stub.OpenSession(
        OpenSessionRequest(group="sample", shard_key=b"k", name="load/1"), timeout=10
    )
    await stub.CloseSession(CloseSessionRequest(group="sample", shard_key=b"k", session=7))

    assert opened.session == 7
    assert [each.type for each in leader.proposed] == [
        "quorate.v1.OpenSession",
        "quorate.v1.OpenSession",
        "quorate.v1.CloseSession",
    ]
    assert control_pb2.OpenSession.FromString(leader.proposed[0].payload).ttl_ms == 5_000
    assert control_pb2.OpenSession.FromString(leader.proposed[1].payload).name == "load/1"
    assert control_pb2.CloseSession.FromString(leader.proposed[2].payload).session == 7


@pytest.mark.parametrize(
    ("method", "request_", "field"),
    [
        ("OpenSession", OpenSessionRequest(), "group"),
        ("OpenSession", OpenSessionRequest(group="no such", ttl_ms=1), "group"),
        ("OpenSession", OpenSessionRequest(group="sample"), "ttl_ms"),
        (
            "OpenSession",
            OpenSessionRequest(group="sample", ttl_ms=1, shard_key=b"x" * 65),
            "shard_key",
        ),
        ("OpenSession", OpenSessionRequest(group="sample", name="x" * 65), "name"),
        ("CloseSession", CloseSessionRequest(), "group"),
        ("CloseSession", CloseSessionRequest(group="x" * 3_000, session=1), "group"),
        ("CloseSession", CloseSessionRequest(group="sample"), "session"),
        (
            "CloseSession",
            CloseSessionRequest(group="sample", session=1, shard_key=b"x" * 65),
            "shard_key",
        ),
    ],
)
async def test_a_session_that_cannot_be_is_refused(
    stub: Any,
    leader: FakeReplica,
    told: Callable[[Any], Told],
    method: str,
    request_: Any,
    field: str,
) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as failed:
        await getattr(stub, method)(request_, timeout=10)

    found = told(failed.value)
    assert (found.code, found.field) == (grpc.StatusCode.INVALID_ARGUMENT, field)
    assert not leader.proposed


async def test_a_reply_that_has_no_room_fails_alone_and_is_not_told_to_be_refused(
    stub: Any,
    leader: FakeReplica,
    note: Callable[[str], Command],
    told: Callable[[Any], Told],
) -> None:
    sizes = {"small": 10, "fits": 1_900, "too much": 1_900, "huge": 5_000, "little": 100}
    commands = {owner: note(owner) for owner in sizes}
    owners = {command.payload: owner for owner, command in commands.items()}
    leader.answer = lambda logged: Outcome(revision_of(1, 0), bytes(sizes[owners[logged.payload]]))

    response = await stub.Execute(ExecuteRequest(commands=commands.values()), timeout=10)

    found = dict(zip(sizes, response.answers, strict=True))
    whole = {owner for owner, each in found.items() if each.HasField("reply")}
    assert whole == {"small", "fits", "little"}
    assert all(len(found[owner].reply.payload) == sizes[owner] for owner in whole)
    for owner in ("too much", "huge"):
        status = told(found[owner].status)
        assert (status.reason, status.metadata["retry"]) == ("OUTCOME_UNKNOWN", "session")
        assert f"was carried out, and its reply of {sizes[owner]} bytes" in status.text
    assert response.ByteSize() < 4_000


async def test_each_reply_comes_whole_however_large_they_are_together(
    stub: Any, leader: FakeReplica, note: Callable[[str], Command]
) -> None:
    sizes = [10, 1_900, 1_900, *([600] * 9), 5_000, 100]
    commands = [note(str(number)) for number in range(len(sizes))]
    numbers = {command.payload: number for number, command in enumerate(commands)}
    leader.answer = lambda logged: Outcome(revision_of(1, 0), bytes(sizes[numbers[logged.payload]]))

    request = ExecuteRequest(commands=[*commands, Command(type="no.such")])
    parts = [part async for part in stub.ExecuteSplit(request, timeout=10)]

    *replies, unknown = [answer for part in parts for answer in part.answers]
    assert [len(each.reply.payload) for each in replies] == [
        0 if size == 5_000 else size for size in sizes
    ]
    # One that no message can hold fails alone.
    assert [each.HasField("status") for each in replies].index(True) == sizes.index(5_000)
    assert unknown.HasField("status")
    assert all(part.ByteSize() < 4_000 for part in parts)
