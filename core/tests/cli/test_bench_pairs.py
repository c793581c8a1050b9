"""The pairs of a load: written for sure, and removed."""

from __future__ import annotations

from typing import Any, cast

import pytest
from google.protobuf.message import Message
from quorate.cli.bench import BenchPairs
from quorate.client.errors import OutcomeUnknownError, QuorateError, UnansweredError
from quorate.v1.kv_pb2 import PutPair, PutPairs


class Client:
    """Fails with what it is told to, and takes every other command."""

    def __init__(self, *errors: QuorateError) -> None:
        self.errors = list(errors)
        self.taken: list[Message] = []

    async def execute(self, command: Message, reply: type[Message]) -> Message:
        self.taken.append(command)
        if self.errors:
            raise self.errors.pop(0)
        return reply()


async def test_what_may_be_written_is_written_again() -> None:
    client = Client(OutcomeUnknownError("lost"), OutcomeUnknownError("lost"))
    pairs = BenchPairs(cast("Any", client), "bench/", 8)

    assert await pairs.put(3) == 1
    first, second, third = client.taken
    assert isinstance(first, PutPair)
    assert first == second == third
    client.errors.append(OutcomeUnknownError("lost"))
    assert await pairs.put_many(0, items=5) == 5
    assert isinstance(client.taken[-1], PutPairs)
    assert client.taken[-1] == client.taken[-2]


async def test_what_is_not_answered_in_time_ends_the_load() -> None:
    pairs = BenchPairs(cast("Any", Client(UnansweredError("late"))), "bench/", 8)

    with pytest.raises(UnansweredError):
        await pairs.put(3)
