"""How commands of many callers share the stream to another node."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from quorate.apply.entries import Copies, LoggedCommand
from quorate.apply.outcomes import Outcome
from quorate.config.sections import TlsSection
from quorate.observe import requests
from quorate.observe.traces import Traces
from quorate.plugin import Fence
from quorate.plugin.shard_id import ShardId
from quorate.plugin.slots import slot_of
from quorate.rpc import forwarder
from quorate.rpc.channels import UnreachableError
from quorate.rpc.forward_serving import ForwardServing
from quorate.shards.refusals import (
    ExhaustedError,
    NotProposedError,
    NotProposedInTimeError,
    OutcomeUnknownError,
    UnansweredInTimeError,
    UnreadableError,
)
from quorate.shards.routing.forwarding import ForwardedQuery
from quorate.shards.routing.proposing import Result
from quorate.v1 import node_pb2

if TYPE_CHECKING:
    from quorate.config.sections import LimitsSection

    from core.tests.rpc.conftest import FakeReplica, Node

SHARD = ShardId("sample", 0)
#: A command, and its timeout in seconds.
Timed = tuple[LoggedCommand, float]
Make = Callable[..., Timed]


@pytest.fixture
def forwarded(sample: Any) -> Make:
    def make(owner: str, timeout_s: float = 5.0, text: str = "") -> Timed:
        message = sample.pb.WriteNote(owner=owner, text=text)
        slots = (slot_of(sample.note_key(owner)),)
        command = LoggedCommand(
            message.DESCRIPTOR.full_name,
            message.SerializeToString(),
            slots,
            copies=Copies.DOUBTED,
        )
        return command, timeout_s

    return make


@pytest.fixture
def calls(nodes: dict[str, Node], monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many commands each message to node a carries."""
    found: list[int] = []
    accept = nodes["a"].groups.accept

    async def counted(shard: ShardId, forwarded: Any, deadlines: Any) -> list[Result]:
        found.append(len(forwarded))
        return await accept(shard, forwarded, deadlines)

    monkeypatch.setattr(nodes["a"].groups, "accept", counted)
    return found


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not holds():
            await asyncio.sleep(0)


def begin(nodes: dict[str, Node], *requests: Timed) -> asyncio.Future[Any]:
    now = asyncio.get_running_loop().time()
    commands = [command for command, _ in requests]
    deadlines = [now + timeout_s for _, timeout_s in requests]
    return asyncio.ensure_future(nodes["b"].forwarder.propose("a", SHARD, commands, deadlines))


async def settled() -> None:
    """Let what was begun come into the forwarder's hands."""
    for _ in range(3):
        await asyncio.sleep(0)


async def test_what_comes_in_one_turn_shares_a_message_and_all_share_a_stream(
    nodes: dict[str, Node], leader: FakeReplica, forwarded: Make, calls: list[int]
) -> None:
    streams = nodes["b"].channels.route
    asked: list[str] = []

    async def counted(node: str, timeout_s: float) -> Any:
        asked.append(node)
        return await streams(node, timeout_s)

    nodes["b"].channels.route = counted  # type: ignore[method-assign]
    leader.waits = asyncio.Event()
    first = [begin(nodes, forwarded(f"first{number}")) for number in range(3)]
    await until(lambda: calls == [3])
    later = [begin(nodes, forwarded(f"later{number}")) for number in range(12)]
    await until(lambda: calls == [3, 12])

    leader.waits.set()
    results = [result for [result] in await asyncio.gather(*first, *later)]

    assert all(isinstance(result, Outcome) for result in results)
    assert asked == ["a"]


async def test_what_ends_first_is_answered_first(
    nodes: dict[str, Node], leader: FakeReplica, forwarded: Make, calls: list[int]
) -> None:
    leader.waits = asyncio.Event()
    slow = begin(nodes, forwarded("slow"))
    await until(lambda: len(calls) == 1)
    await settled()
    leader.waits = None

    [quick] = await begin(nodes, forwarded("quick"))

    assert isinstance(quick, Outcome)
    assert not slow.done()
    slow.cancel()


async def test_a_callers_commands_stay_together_and_in_order(
    nodes: dict[str, Node], leader: FakeReplica, forwarded: Make, calls: list[int]
) -> None:
    requests = [forwarded(owner) for owner in "abcdef"]
    requests[3] = requests[3][0]._replace(fence=Fence(b"lock", 7)), 5.0

    results = await begin(nodes, *requests)

    assert [result.reply for result in results] == [each.payload for each, _ in requests]
    assert leader.proposed == [each for each, _ in requests]
    assert calls == [6]


async def test_a_message_is_bounded_in_bytes(
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
    monkeypatch.setattr(forwarder, "ROOM_COMMANDS", 3)
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


@pytest.fixture
def held(nodes: dict[str, Node], monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Keeps the stream to node a from being made until it is set."""
    route, opened = nodes["b"].channels.route, asyncio.Event()

    async def late(node: str, timeout_s: float) -> Any:
        await opened.wait()
        return await route(node, timeout_s)

    monkeypatch.setattr(nodes["b"].channels, "route", late)
    return opened


async def test_what_waits_for_the_stream_until_its_deadline_was_not_sent(
    nodes: dict[str, Node], leader: FakeReplica, forwarded: Make, held: asyncio.Event
) -> None:
    patient = begin(nodes, forwarded("patient", 30.0))

    [result] = await asyncio.wait_for(begin(nodes, forwarded("hasty", 0.1)), 10)

    assert isinstance(result, NotProposedInTimeError)
    held.set()
    await patient
    assert len(leader.proposed) == 1


async def test_of_a_part_what_is_late_before_it_is_sent_stays(
    nodes: dict[str, Node], leader: FakeReplica, forwarded: Make, held: asyncio.Event
) -> None:
    both = begin(nodes, forwarded("hasty", 0.1), forwarded("patient", 30.0))
    await begin(nodes, forwarded("another", 0.2))

    held.set()
    late, found = await both

    assert isinstance(late, NotProposedInTimeError)
    assert isinstance(found, Outcome)
    assert leader.proposed == [forwarded("patient")[0]]


async def test_the_refusal_of_an_unknown_command_names_who_knows_it(nodes: dict[str, Node]) -> None:
    stranger = LoggedCommand("newer.v1.Unheard", b"")
    [refused] = await begin(nodes, (stranger, 5.0))
    assert isinstance(refused, Outcome)
    assert refused.refusal is not None
    assert refused.refusal.code == "UNKNOWN_COMMAND"
    assert "knows command newer.v1.Unheard; known to: z;" in refused.refusal.message


async def test_who_gives_up_waiting_is_not_sent(
    nodes: dict[str, Node], leader: FakeReplica, forwarded: Make, held: asyncio.Event
) -> None:
    gone, stays = begin(nodes, forwarded("gone")), begin(nodes, forwarded("stays"))
    await settled()

    gone.cancel()
    await settled()
    held.set()
    await stays

    assert len(leader.proposed) == 1


async def test_a_stream_that_breaks_leaves_what_was_sent_in_doubt_and_is_made_anew(
    nodes: dict[str, Node], leader: FakeReplica, forwarded: Make, calls: list[int]
) -> None:
    leader.waits = asyncio.Event()
    sent = begin(nodes, forwarded("sent"))
    await until(lambda: len(calls) == 1)
    port = int(nodes["a"].address.rpartition(":")[2])
    await nodes["a"].server.stop(0)

    [lost] = await sent
    [refused] = await begin(nodes, forwarded("refused"))

    assert isinstance(lost, OutcomeUnknownError)
    assert isinstance(refused, NotProposedError)
    leader.waits = None
    again = nodes["a"].serve()
    again.bind("127.0.0.1", port, TlsSection())
    await again.start()
    try:
        async with asyncio.timeout(20):
            while not isinstance((await begin(nodes, forwarded("found")))[0], Outcome):
                pass
    finally:
        await again.stop(0)


async def test_a_node_that_is_no_member_any_more_forwards_nothing(
    nodes: dict[str, Node], leader: FakeReplica, forwarded: Make
) -> None:
    [found] = await begin(nodes, forwarded("member"))
    assert isinstance(found, Outcome)
    nodes["a"].network.know({})

    [refused] = await begin(nodes, forwarded("removed"))

    assert isinstance(refused, NotProposedError)
    assert len(leader.proposed) == 1


async def test_a_message_that_meets_a_bug_is_not_repeated_and_others_go_on(
    nodes: dict[str, Node], leader: FakeReplica, forwarded: Make, monkeypatch: Any
) -> None:
    accept = nodes["a"].groups.accept

    async def broken(shard: ShardId, asked: Any, deadlines: Any) -> list[Result]:
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
    response = ForwardServing._next_response

    def cut(serving: ForwardServing) -> node_pb2.ForwardResponse:
        found = response(serving)
        del found.parts[0].answers[1:]
        return found

    monkeypatch.setattr(ForwardServing, "_next_response", cut)

    first, second = await begin(nodes, forwarded("a"), forwarded("b"))

    assert isinstance(first, Outcome)
    assert isinstance(second, OutcomeUnknownError)


@pytest.fixture
def spans() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def traces(spans: InMemorySpanExporter) -> Traces:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    return Traces(provider)


@pytest.mark.parametrize("broken", [False, True])
async def test_the_span_of_a_query_whose_answer_breaks_off_has_failed(
    limits: LimitsSection, spans: InMemorySpanExporter, traces: Traces, broken: bool
) -> None:
    async def answer(*asked: Any, **options: Any) -> AsyncIterator[node_pb2.ShardQueryResponse]:
        yield node_pb2.ShardQueryResponse(revision=1)
        if broken:
            raise UnreachableError("gone")

    async def route(node: str, timeout_s: float) -> Any:
        return SimpleNamespace(stub=SimpleNamespace(Query=answer), metadata=())

    channels: Any = SimpleNamespace(route=route)
    asking = forwarder.NodeForwarder(channels, asyncio.get_running_loop(), limits, traces)
    requests.begin(None, traces.begin("call").name)
    query = ForwardedQuery(
        shard=SHARD,
        type="a.Query",
        payload=b"",
        row="a.Row",
        consistency="stale",
        min_revision=0,
        timeout_s=1.0,
    )
    [result] = await asyncio.gather(asking.query("a", query), return_exceptions=True)
    assert isinstance(result, UnreadableError) is broken
    [span] = spans.get_finished_spans()
    assert span.status.description == ("unread" if broken else None)


async def test_the_span_of_commands_that_nobody_waits_for_has_failed(
    limits: LimitsSection, spans: InMemorySpanExporter, traces: Traces, forwarded: Make
) -> None:
    async def route(node: str, timeout_s: float) -> Any:
        await asyncio.Event().wait()

    channels: Any = SimpleNamespace(route=route)
    command = forwarded("ann")[0]._replace(span=traces.begin("call").name)
    loop = asyncio.get_running_loop()
    asking = forwarder.NodeForwarder(channels, loop, limits, traces)
    task = asyncio.ensure_future(asking.propose("a", SHARD, [command], [loop.time() + 5.0]))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    [span] = spans.get_finished_spans()
    assert span.status.description == "unanswered"
