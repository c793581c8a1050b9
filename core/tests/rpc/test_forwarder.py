"""How commands of many callers share the calls to another node."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from quorate.apply.entries import LoggedCommand
from quorate.apply.outcomes import Outcome
from quorate.groups.refusals import (
    ExhaustedError,
    NotProposedInTimeError,
    OutcomeUnknownError,
    UnansweredInTimeError,
)
from quorate.groups.routing.forwarding import ForwardedCommand
from quorate.groups.routing.proposing import Result
from quorate.plugin.shard_id import ShardId
from quorate.plugin.slots import slot_of
from quorate.rpc import bundles
from quorate.rpc.forwarder import CALLS
from quorate.v1 import node_pb2

if TYPE_CHECKING:
    from core.tests.rpc.conftest import FakeReplica, Node

SHARD = ShardId("sample", 0)
Make = Callable[..., ForwardedCommand]


@pytest.fixture
def forwarded(sample: Any) -> Make:
    def make(owner: str, timeout_s: float = 5.0, text: str = "") -> ForwardedCommand:
        message = sample.pb.WriteNote(owner=owner, text=text)
        slots = (slot_of(sample.note_key(owner)),)
        command = LoggedCommand(message.DESCRIPTOR.full_name, message.SerializeToString(), slots)
        return ForwardedCommand(shard=SHARD, command=command, caller="ada", timeout_s=timeout_s)

    return make


@pytest.fixture
def calls(nodes: dict[str, Node], monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many commands each call to node a carries."""
    found: list[int] = []
    accept = nodes["a"].groups.accept

    async def counted(shard: ShardId, forwarded: Any) -> list[Result]:
        found.append(len(forwarded))
        return await accept(shard, forwarded)

    monkeypatch.setattr(nodes["a"].groups, "accept", counted)
    return found


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not holds():
            await asyncio.sleep(0)


def begin(nodes: dict[str, Node], *requests: ForwardedCommand) -> asyncio.Future[Any]:
    return asyncio.ensure_future(nodes["b"].forwarder.propose("a", requests))


async def settled() -> None:
    """Let what was begun come into the forwarder's hands."""
    for _ in range(3):
        await asyncio.sleep(0)


async def test_what_comes_while_calls_are_under_way_shares_the_next_one(
    nodes: dict[str, Node], leader: FakeReplica, forwarded: Make, calls: list[int]
) -> None:
    leader.waits = asyncio.Event()
    first = []
    for number in range(CALLS):
        first.append(begin(nodes, forwarded(f"first{number}")))
        await until(lambda number=number: len(calls) == number + 1)  # type: ignore[misc]
    later = [begin(nodes, forwarded(f"later{number}")) for number in range(12)]
    await settled()
    assert calls == [1] * CALLS

    leader.waits.set()
    results = [result for [result] in await asyncio.gather(*first, *later)]

    assert all(isinstance(result, Outcome) for result in results)
    assert calls == [*[1] * CALLS, 12]


async def test_a_callers_commands_stay_together_and_in_order(
    nodes: dict[str, Node], leader: FakeReplica, forwarded: Make, calls: list[int]
) -> None:
    requests = [forwarded(owner) for owner in "abcdef"]

    results = await begin(nodes, *requests)

    assert [result.reply for result in results] == [each.command.payload for each in requests]
    assert leader.proposed == [each.command for each in requests]
    assert calls == [6]


async def test_a_call_is_bounded_in_bytes(
    nodes: dict[str, Node], leader: FakeReplica, forwarded: Make, calls: list[int]
) -> None:
    text = "x" * 500
    await asyncio.gather(*(begin(nodes, forwarded(owner, text=text)) for owner in "abcdef"))

    assert sum(calls) == 6
    assert max(calls) == 3


async def test_what_is_under_way_is_bounded(
    nodes: dict[str, Node],
    leader: FakeReplica,
    forwarded: Make,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bundles, "ROOM_COMMANDS", 3)
    leader.waits = asyncio.Event()
    taken = [begin(nodes, forwarded("a"), forwarded("b")), begin(nodes, forwarded("c"))]
    await settled()

    with pytest.raises(ExhaustedError, match="the queue to a for shard sample/0 is full: 3 comm"):
        await begin(nodes, forwarded("d"))
    taken[1].cancel()
    await settled()
    taken.append(begin(nodes, forwarded("e")))
    leader.waits.set()

    assert [len(await each) for each in (taken[0], taken[2])] == [2, 1]
    assert len(await begin(nodes, *map(forwarded, "fgh"))) == 3


async def test_each_keeps_its_deadline(
    nodes: dict[str, Node], leader: FakeReplica, forwarded: Make
) -> None:
    await begin(nodes, forwarded("a", 10.0), forwarded("b", 25.0))

    assert [pytest.approx(each, abs=5) for each in leader.timeouts] == [10, 25]


async def test_a_deadline_passes_while_others_of_the_call_go_on(
    nodes: dict[str, Node], leader: FakeReplica, forwarded: Make
) -> None:
    leader.waits = asyncio.Event()
    patient = begin(nodes, forwarded("patient", 30.0))
    hasty = begin(nodes, forwarded("hasty", 0.3))

    [result] = await asyncio.wait_for(hasty, 10)

    assert isinstance(result, UnansweredInTimeError)
    assert not patient.done()
    leader.waits.set()
    [late] = await patient
    assert isinstance(late, Outcome)


async def test_what_waits_for_a_call_until_its_deadline_was_not_sent(
    nodes: dict[str, Node], leader: FakeReplica, forwarded: Make, calls: list[int]
) -> None:
    leader.waits = asyncio.Event()
    under_way = []
    for number in range(CALLS):
        under_way.append(begin(nodes, forwarded(f"first{number}", 30.0)))
        await until(lambda number=number: len(calls) == number + 1)  # type: ignore[misc]

    [result] = await asyncio.wait_for(begin(nodes, forwarded("hasty", 0.1)), 10)

    assert isinstance(result, NotProposedInTimeError)
    leader.waits.set()
    await asyncio.gather(*under_way)
    assert len(leader.proposed) == CALLS


async def test_who_gives_up_waiting_is_not_sent(
    nodes: dict[str, Node], leader: FakeReplica, forwarded: Make, calls: list[int]
) -> None:
    leader.waits = asyncio.Event()
    under_way = []
    for number in range(CALLS):
        under_way.append(begin(nodes, forwarded(f"first{number}")))
        await until(lambda number=number: len(calls) == number + 1)  # type: ignore[misc]
    gone, stays = begin(nodes, forwarded("gone")), begin(nodes, forwarded("stays"))
    await settled()

    gone.cancel()
    leader.waits.set()
    await asyncio.gather(*under_way, stays)

    assert len(leader.proposed) == CALLS + 1


async def test_a_call_that_breaks_is_not_repeated_and_others_go_on(
    nodes: dict[str, Node], leader: FakeReplica, forwarded: Make, monkeypatch: Any
) -> None:
    accept = nodes["a"].groups.accept

    async def broken(shard: ShardId, asked: Any) -> list[Result]:
        monkeypatch.setattr(nodes["a"].groups, "accept", accept)
        raise ZeroDivisionError

    monkeypatch.setattr(nodes["a"].groups, "accept", broken)
    lost = await begin(nodes, forwarded("a"), forwarded("b"))
    [found] = await begin(nodes, forwarded("c"))

    assert [type(each) for each in lost] == [OutcomeUnknownError] * 2
    assert isinstance(found, Outcome)
    assert len(leader.proposed) == 1


async def test_what_lacks_an_answer_is_in_doubt(
    nodes: dict[str, Node], leader: FakeReplica, forwarded: Make, monkeypatch: Any
) -> None:
    def cut(answers: list[node_pb2.ForwardAnswer]) -> node_pb2.ForwardResponse:
        return node_pb2.ForwardResponse(answers=answers[:1])

    served = SimpleNamespace(**{**vars(node_pb2), "ForwardResponse": cut})
    monkeypatch.setattr("quorate.rpc.node_service.node_pb2", served)

    first, second = await begin(nodes, forwarded("a"), forwarded("b"))

    assert isinstance(first, Outcome)
    assert isinstance(second, OutcomeUnknownError)
