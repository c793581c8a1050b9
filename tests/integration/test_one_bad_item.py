"""One bad item of a batch is refused in its place by every way in, and hides none of the others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any, Final

import grpc
import pytest
import pytest_asyncio
from google.protobuf.message import Message
from quorate.client import AsyncClient, Client, connect
from quorate.plugin import Command, Invalid
from quorate.plugin.catalog import build
from quorate.plugin.discovery import installed
from quorate.v1 import command_pb2 as pb
from quorate.v1.batch_pb2 import BatchReply

from tests.integration.conftest import EXAMPLES

if TYPE_CHECKING:
    from tests.integration.conftest import Served

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.ci]

_CATALOG: Final = build([plugin for plugin in installed() if plugin.name not in EXAMPLES])


def wrong(command: Command[Any]) -> Any:
    """Return an item that the command refuses alone; None where every item can be right."""
    assert command.items is not None
    example = command.examples[0]
    for item in command.items.get(example):
        empty = type(item)()
        try:
            if command.validate is not None:
                command.validate(command.items.make(example, [empty]))
        except Invalid:
            return empty
    return None


BATCHES: Final = {
    name: (command, bad)
    for name, command in sorted(_CATALOG.commands.items())
    if command.public and command.items is not None and (bad := wrong(command)) is not None
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def q(served: Served) -> AsyncIterator[AsyncClient]:
    async with connect(served.address) as q:
        yield q


@pytest.fixture(scope="module")
def client(served: Served) -> Iterator[Client]:
    with Client(served.address) as client:
        yield client


async def executed(served: Served, batch: Message) -> BatchReply:
    """Send it as one of two commands of a call."""
    asked = pb.Command(type=batch.DESCRIPTOR.full_name, payload=batch.SerializeToString())
    request = pb.ExecuteRequest(commands=[asked, pb.Command()])
    method = "/quorate.v1.CommandService/Execute"
    [message] = (await served.call(method, request.SerializeToString())).messages
    answer, other = pb.ExecuteResponse.FromString(message).answers
    assert other.HasField("status")
    assert answer.HasField("reply"), answer
    return BatchReply.FromString(answer.reply.payload)


async def streamed(served: Served, batch: Message) -> BatchReply:
    asked = pb.Command(type=batch.DESCRIPTOR.full_name, payload=batch.SerializeToString())
    request = pb.StreamRequest(commands=[asked])
    method = "/quorate.v1.CommandService/Stream"
    [message] = (await served.call(method, request.SerializeToString())).messages
    [answer] = pb.StreamResponse.FromString(message).answers
    assert answer.answer.HasField("reply"), answer
    return BatchReply.FromString(answer.answer.reply.payload)


async def by_service(served: Served, batch: Message) -> BatchReply | None:
    """Return the answer of the method whose request is the command, if there is one."""
    for name, method in (await served.methods()).items():
        if (
            method.input_type is batch.DESCRIPTOR
            and method.output_type is BatchReply.DESCRIPTOR
            and not method.server_streaming
        ):
            answer = await served.call(name, batch.SerializeToString())
            assert answer.code is grpc.StatusCode.OK, (answer.code, answer.details)
            return BatchReply.FromString(answer.messages[0])
    return None


@pytest.mark.parametrize("name", BATCHES)
async def test_the_others_are_carried_out(
    served: Served, q: AsyncClient, client: Client, name: str
) -> None:
    command, bad = BATCHES[name]
    assert command.items is not None
    example = command.examples[0]
    good = list(command.items.get(example))
    # Bad ones at the end too: parts of several shards have them.
    batch = command.items.make(example, [*good, bad, bad])
    places = [len(good), len(good) + 1]
    answers = {
        "service": await by_service(served, batch),
        "Execute": await executed(served, batch),
        "Stream": await streamed(served, batch),
        "async client": await q.execute(batch, BatchReply),
        "sync client": await asyncio.to_thread(client.execute, batch, BatchReply),
        "batches of the client": await q.execute_all([batch, batch]),
    }
    for way, answer in answers.items():
        if answer is None:
            continue
        count = answer.items // len(batch_items(command, batch))
        expected = [place + round_ * (len(good) + 2) for round_ in range(count) for place in places]
        told = {
            each.item: each.message for each in answer.refusals if each.code == "INVALID_ARGUMENT"
        }
        named = [item for item, message in told.items() if f"[{item}]" in message.split(":")[0]]
        assert named == expected, (way, answer)


def batch_items(command: Command[Any], batch: Message) -> list[Any]:
    assert command.items is not None
    return list(command.items.get(batch))
