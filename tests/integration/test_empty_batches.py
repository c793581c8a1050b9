"""A batch without items is answered as one without refusals, and nothing is logged of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from quorate.v1.batch_pb2 import BatchReply

if TYPE_CHECKING:
    from tests.integration.conftest import Served

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_every_batch_command_takes_no_items(served: Served) -> None:
    before = served.last_entries()

    for name, command in served.catalog.commands.items():
        if command.items is not None:
            empty = command.items.make(command.examples[0], [])
            assert not command.items.get(empty), name
            answer = await served.node.router.propose(empty)
            assert BatchReply.FromString(answer.reply) == BatchReply(), name

    assert served.last_entries() == before


async def test_every_batch_method_takes_no_items(served: Served) -> None:
    before = served.last_entries()
    taken: dict[str, object] = {}

    for path, method in (await served.methods()).items():
        if method.output_type is not BatchReply.DESCRIPTOR or method.client_streaming:
            continue
        command: Any = served.catalog.commands.get(method.input_type.full_name)
        if command is not None and command.items is None:
            continue
        empty = b""
        if command is not None:
            empty = command.items.make(command.examples[0], []).SerializeToString()
        answer = await served.call(path, empty)
        taken[path] = [BatchReply.FromString(each) for each in answer.messages] or answer.details

    assert {path: answer for path, answer in taken.items() if answer != [BatchReply()]} == {}
    assert len(taken) > 20
    assert served.last_entries() == before
