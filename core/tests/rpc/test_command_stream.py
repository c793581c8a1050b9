"""Streams of commands: one alone, and through a leader and a node that forwards."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from typing import TYPE_CHECKING, Any

import grpc
import grpc.aio
import pytest
from quorate.apply.entries import LoggedCommand, revision_of
from quorate.apply.outcomes import Outcome, Refusal
from quorate.config.sections import LimitsSection
from quorate.plugin.advanced import Stub
from quorate.rpc.command_stream import RESPONSE_BYTES, CommandStream
from quorate.shards.router import Answer
from quorate.shards.routing.requests import Answered
from quorate.v1 import command_pb2
from quorate.v1.command_pb2 import (
    Command,
    CommandAnswer,
    CommandReply,
    StreamRequest,
    StreamResponse,
)

if TYPE_CHECKING:
    from core.tests.rpc.conftest import FakeReplica, Node, Told

NOTE = "kit_sample.v1.WriteNote"
EOF: Any = getattr(grpc.aio, "EOF")  # noqa: B009 - the stubs lack it


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


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not holds():
            await asyncio.sleep(0)


async def answers_of(call: Any, count: int) -> dict[int, CommandAnswer]:
    found: dict[int, CommandAnswer] = {}
    async with asyncio.timeout(10):
        while len(found) < count:
            response = await call.read()
            assert response is not EOF, f"it ended after {len(found)} answers"
            for each in response.answers:
                assert each.number not in found
                found[each.number] = each.answer
    return found


async def test_commands_are_proposed_in_their_order_and_answered(
    stub: Any, leader: FakeReplica, note: Callable[[str], Command]
) -> None:
    owners = [f"o{number:03}" for number in range(200)]
    call = stub.Stream()
    for start in range(0, 200, 20):
        await call.write(
            StreamRequest(commands=[note(each) for each in owners[start : start + 20]])
        )
    await call.done_writing()

    answers = await answers_of(call, 200)

    assert await call.read() is EOF
    assert [answers[number].reply.payload for number in range(200)] == [
        note(owner).payload for owner in owners
    ]
    assert [each.payload for each in leader.proposed] == [note(owner).payload for owner in owners]
    assert len(leader.calls) < 200


async def test_each_is_answered_as_soon_as_it_can_be(
    stub: Any, leader: FakeReplica, note: Callable[[str], Command], told: Callable[[Any], Told]
) -> None:
    leader.waits = asyncio.Event()
    call = stub.Stream()
    await call.write(StreamRequest(commands=[note("a"), Command(type="no.such")]))

    [(number, answer)] = (await answers_of(call, 1)).items()

    assert number == 1
    assert told(answer.status).field == "type"
    leader.waits.set()
    assert list(await answers_of(call, 1)) == [0]
    await call.write(StreamRequest(commands=[note("b")]))
    assert list(await answers_of(call, 1)) == [2]
    await call.done_writing()
    assert await call.read() is EOF


async def test_a_stream_ends_after_its_answers_are_out(
    stub: Any, leader: FakeReplica, note: Callable[[str], Command]
) -> None:
    leader.waits = asyncio.Event()
    call = stub.Stream()
    await call.write(StreamRequest(commands=[note("a"), note("b")]))
    await call.done_writing()
    await until(lambda: len(leader.proposed) == 2)
    leader.waits.set()

    assert set(await answers_of(call, 2)) == {0, 1}
    assert await call.read() is EOF
    assert await call.code() is grpc.StatusCode.OK


async def test_a_stream_without_a_command(stub: Any) -> None:
    call = stub.Stream(timeout=10)
    await call.done_writing()
    assert await call.read() is EOF
    assert await call.code() is grpc.StatusCode.OK


async def test_a_message_that_is_wrong_ends_the_stream_after_its_answers(
    stub: Any, leader: FakeReplica, note: Callable[[str], Command], told: Callable[[Any], Told]
) -> None:
    leader.waits = asyncio.Event()
    call = stub.Stream()
    await call.write(StreamRequest(commands=[note("a")]))
    # One without commands is right: there is nothing to answer.
    await call.write(StreamRequest())
    await call.write(StreamRequest(commands=[note("b")] * 21))
    await until(lambda: len(leader.proposed) == 1)
    leader.waits.set()

    assert list(await answers_of(call, 1)) == [0]
    with pytest.raises(grpc.aio.AioRpcError) as failed:
        await call.read()
    found = told(failed.value)
    assert (found.code, found.field) == (grpc.StatusCode.INVALID_ARGUMENT, "commands")
    assert len(leader.proposed) == 1


async def test_what_is_no_message_ends_the_stream(
    nodes: dict[str, Node], told: Callable[[Any], Told]
) -> None:
    async with grpc.aio.insecure_channel(nodes["a"].address) as channel:
        method: Any = channel.stream_stream
        call = method("/quorate.v1.CommandService/Stream")()
        await call.write(b"\xff\xff")
        with pytest.raises(grpc.aio.AioRpcError) as failed:
            await call.read()
    found = told(failed.value)
    assert (found.code, found.field) == (grpc.StatusCode.INVALID_ARGUMENT, "request")


async def test_a_stream_that_breaks_takes_back_nothing_that_was_proposed(
    nodes: dict[str, Node], stub: Any, leader: FakeReplica, note: Callable[[str], Command]
) -> None:
    leader.waits = asyncio.Event()
    ended: list[bytes] = []

    def answer(logged: LoggedCommand) -> Outcome:
        ended.append(logged.payload)
        return Outcome(revision_of(1, 0))

    leader.answer = answer
    call = stub.Stream()
    await call.write(StreamRequest(commands=[note("a")]))
    await until(lambda: len(leader.proposed) == 1)

    call.cancel()
    async with grpc.aio.insecure_channel(nodes["b"].address) as channel:
        other = Stub(channel, command_pb2.DESCRIPTOR.services_by_name["CommandService"]).Stream()
        leader.waits.set()
        await other.write(StreamRequest(commands=[note("b")]))
        await answers_of(other, 1)

    assert [each.payload for each in leader.proposed] == [note("a").payload, note("b").payload]
    assert note("b").payload in ended


async def test_a_command_has_its_own_time(
    stub: Any, leader: FakeReplica, note: Callable[[str], Command]
) -> None:
    command = note("a")
    command.timeout_ms = 10_000
    call = stub.Stream(timeout=25)
    await call.write(StreamRequest(commands=[command, note("b")]))
    await answers_of(call, 2)
    await call.done_writing()
    assert [pytest.approx(each, abs=5) for each in leader.timeouts] == [10, 25]

    call = stub.Stream()
    await call.write(StreamRequest(commands=[note("c")]))
    await answers_of(call, 1)
    await call.done_writing()
    assert leader.timeouts[-1] == pytest.approx(60, abs=5)


async def test_refusals_stand_in_their_places(
    stub: Any, leader: FakeReplica, note: Callable[[str], Command], told: Callable[[Any], Told]
) -> None:
    refused = note("refused").payload
    leader.answer = lambda logged: Outcome(
        revision_of(1, 0), b"", Refusal("TAKEN", "") if logged.payload == refused else None
    )
    call = stub.Stream()
    await call.write(StreamRequest(commands=[note("a"), note("refused"), note("b")]))
    answers = await answers_of(call, 3)
    await call.done_writing()
    assert [answers[number].WhichOneof("result") for number in range(3)] == [
        "reply",
        "status",
        "reply",
    ]
    assert told(answers[1].status).reason == "TAKEN"


# A stream alone.


class Alone:
    """A stream whose commands are answered by hand."""

    def __init__(self, **limits: int) -> None:
        self.put: list[Answered] = []
        self.numbers = 0
        self.given = 0
        self.messages: list[list[Command]] = []
        self.responses: list[StreamResponse] = []
        self.writable = asyncio.Event()
        self.writable.set()
        self.stream = CommandStream(self._put, tell, LimitsSection(**limits))
        self.reading = asyncio.ensure_future(self.stream.read(self._read()))
        self.writing = asyncio.ensure_future(self.stream.write(self._write))

    def _put(self, commands: Iterable[tuple[Command, Answered]]) -> None:
        self.put += [answered for _, answered in commands]

    async def _read(self) -> AsyncIterator[list[Command]]:
        for message in self.messages:
            self.given += 1
            yield message

    async def _write(self, response: StreamResponse) -> None:
        await self.writable.wait()
        self.responses.append(response)

    def answer(self, *numbers: int, reply: bytes = b"") -> None:
        for number in numbers:
            self.put[number](Answer(reply, {}))

    async def turn(self) -> None:
        for _ in range(20):
            await asyncio.sleep(0)

    async def end(self) -> None:
        self.reading.cancel()
        self.writing.cancel()
        await asyncio.gather(self.reading, self.writing, return_exceptions=True)


def tell(command: Command, answer: Answer | Exception) -> CommandAnswer:
    assert isinstance(answer, Answer)
    return CommandAnswer(reply=CommandReply(payload=answer.reply))


async def test_no_more_is_read_than_may_wait_for_an_answer() -> None:
    alone = Alone(stream_commands=3)
    alone.messages = [[Command(), Command()] for _ in range(4)]
    await alone.turn()
    assert alone.given == 2
    alone.answer(3)
    await alone.turn()
    assert alone.given == 2
    alone.answer(0)
    await alone.turn()
    assert alone.given == 3
    await alone.end()


async def test_no_more_is_read_than_bytes_may_wait() -> None:
    alone = Alone(stream_bytes=100)
    alone.messages = [[Command(payload=b"x" * 60)] for _ in range(4)]
    await alone.turn()
    assert alone.given == 2
    alone.answer(0)
    await alone.turn()
    assert alone.given == 3
    await alone.end()


async def test_who_reads_no_answers_is_read_no_further() -> None:
    alone = Alone(stream_commands=2)
    alone.messages = [[Command(), Command()] for _ in range(2)]
    alone.writable.clear()
    await alone.turn()
    alone.answer(0, 1)
    await alone.turn()
    assert alone.given == 1
    alone.writable.set()
    await alone.turn()
    assert alone.given == 2
    await alone.end()


async def test_answers_share_messages_of_a_bounded_size() -> None:
    alone = Alone()
    alone.messages = [[Command()] * 10]
    await alone.turn()
    alone.answer(4, 2, 0)
    await alone.turn()
    assert [[each.number for each in response.answers] for response in alone.responses] == [
        [4, 2, 0]
    ]
    alone.responses.clear()
    alone.answer(1, 3, 5, 6, 7, reply=b"x" * (RESPONSE_BYTES // 2))
    alone.answer(8, 9)
    await asyncio.wait_for(alone.writing, 10)
    assert [len(response.answers) for response in alone.responses] == [2, 2, 3]
