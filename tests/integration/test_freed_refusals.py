"""What a node refuses is freed at once: none of it waits in a cycle for the collector of garbage.

The collector looks at old objects so seldom that refused requests once filled the memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import grpc
import pytest
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.kv_pb2 import PutPair, PutPairs

from tests.integration.test_bad_input import BY_NODES, ROWS
from tests.support.cycles import no_frame_in_a_cycle

if TYPE_CHECKING:
    from tests.integration.conftest import Served

pytestmark = pytest.mark.asyncio(loop_scope="module")

PUT_BATCH = "/quorate.v1.KvService/PutBatch"
#: A field that nobody knows, and more than a node reads.
TOO_LARGE = b"\xfa\xff\xff\xff\x0f\x80\x80\x20" + bytes(512 << 10)


async def test_a_command_of_refused_size(served: Served) -> None:
    pairs = [PutPair(key=b"%d" % number, value=bytes(100_000)) for number in range(4)]

    async with no_frame_in_a_cycle():
        answer = await served.call(PUT_BATCH, PutPairs(pairs=pairs).SerializeToString())

    assert answer.code is grpc.StatusCode.INVALID_ARGUMENT
    assert answer.fields == ["command"]


async def test_a_batch_with_a_refused_item(served: Served) -> None:
    pairs = [PutPair(key=b"1", value=bytes(100_000)), PutPair()]

    async with no_frame_in_a_cycle():
        answer = await served.call(PUT_BATCH, PutPairs(pairs=pairs).SerializeToString())

    # In its place; the other one is carried out.
    [message] = answer.messages
    assert [each.code for each in BatchReply.FromString(message).refusals] == ["INVALID_ARGUMENT"]


@pytest.mark.ci
async def test_whatever_is_refused_by_any_method(served: Served) -> None:
    async with no_frame_in_a_cycle():
        for method, row in ROWS.items():
            wrong = [each.SerializeToString() for each, _ in (*row.large, *row.wrong)]
            for content in (b"\xff" * 7, b"", TOO_LARGE, *wrong):
                admitted = method in BY_NODES
                await served.refused_or_not(method, content, admitted=admitted, most=1)
