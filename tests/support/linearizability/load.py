"""Clients that use a few keys all at once, and note what they asked and were told."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

import grpc.aio
from quorate.builtin.kv.apply import MISMATCH
from quorate.plugin.advanced import Stub
from quorate.testing.waiting import PATIENCE_S
from quorate.v1 import kv_pb2

from tests.support.linearizability.checking import MOST_CLIENTS
from tests.support.linearizability.operations import (
    Call,
    Delete,
    Deleted,
    Get,
    Operation,
    Outcome,
    Put,
    Read,
    Refused,
    Written,
)
from tests.support.reach import CALL_S, LOOK_S, Reach, may_have_happened, reason

#: Carries out a call on a key at a node; raises `AioRpcError` when the node does not.
Ask = Callable[[grpc.aio.Channel, bytes, Call], Awaitable[Outcome]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is asked; all that the clients choose comes from the seed."""

    seed: int
    #: At least so many operations, beside the last look at every key.
    operations: int
    #: Each with ten clients of its own.
    teams: int = 2
    #: Of each team.
    keys: int = 6
    #: What the keys begin with, up to their first slash.
    prefix: str = "history"


async def ask_pairs(channel: grpc.aio.Channel, key: bytes, call: Call) -> Outcome:
    """Carry out a call on a pair of the domain `kv`."""
    stub = Stub(channel, kv_pb2.DESCRIPTOR.services_by_name["KvService"])
    try:
        return await _asked(stub, key, call)
    except grpc.aio.AioRpcError as error:
        if reason(error) == MISMATCH:
            return Refused()
        raise


async def _asked(stub: Stub, key: bytes, call: Call) -> Outcome:
    match call:
        case Get():
            found = await stub.Get(kv_pb2.GetPairRequest(key=key), timeout=CALL_S)
            return Read(found.pair.value, found.pair.revision)
        case Put(value, expected):
            put = kv_pb2.PutPair(key=key, value=value, expected_revision=expected)
            written = await stub.Put(put, timeout=CALL_S)
            return Written(written.revision, written.created)
        case Delete(expected):
            delete = kv_pb2.DeletePair(key=key, expected_revision=expected)
            return Deleted((await stub.Delete(delete, timeout=CALL_S)).deleted)


class Load:
    """Carries out a plan through nodes that may come and go.

    A call that surely did nothing is not part of the history: it is tried again elsewhere as
    another one.
    """

    def __init__(self, reach: Reach, plan: Plan, ask: Ask = ask_pairs) -> None:
        self._reach: Final = reach
        self._ask: Final = ask
        self._plan: Final = plan
        #: What has come to its end so far.
        self.history: Final[list[Operation]] = []

    async def run(self) -> list[Operation]:
        """Carry out the plan, look at every key once more, and return the history."""
        async with asyncio.TaskGroup() as clients:
            for number in range(self._plan.teams * MOST_CLIENTS):
                clients.create_task(self._client(number))
        rng = random.Random(self._plan.seed)
        for number in range(self._plan.teams * MOST_CLIENTS):
            for key in self._keys(number)[number % MOST_CLIENTS :: MOST_CLIENTS]:
                async with asyncio.timeout(PATIENCE_S):
                    while await self._call(number, key, Get(), rng) is None:
                        pass
        return self.history

    async def reached(self, operations: int) -> None:
        """Wait until so many operations have come to their end."""
        async with asyncio.timeout(PATIENCE_S):
            while len(self.history) < operations:
                await asyncio.sleep(LOOK_S)

    def _keys(self, client: int) -> list[bytes]:
        team = client // MOST_CLIENTS
        prefix = f"{self._plan.prefix}-{self._plan.seed}-{team}"
        return [f"{prefix}/{number}".encode() for number in range(self._plan.keys)]

    async def _client(self, number: int) -> None:
        rng = random.Random(f"{self._plan.seed}/{number}")
        known: dict[bytes, int] = {}
        turn = 0
        while len(self.history) < self._plan.operations:
            turn += 1
            key = rng.choice(self._keys(number))
            call = _chosen(rng, f"{number}.{turn}".encode(), known.get(key, 0))
            match await self._call(number, key, call, rng):
                case Read(revision=revision) | Written(revision=revision):
                    known[key] = revision
                case Deleted():
                    known[key] = 0

    async def _call(
        self, client: int, key: bytes, call: Call, rng: random.Random
    ) -> Outcome | None:
        """Carry out one operation, and note it unless it surely did nothing."""
        node = self._reach.choose(client, rng)
        if node is None:
            await asyncio.sleep(LOOK_S)
            return None
        sent = time.monotonic()
        outcome: Outcome | None = None
        try:
            outcome = await self._ask(node.channel, key, call)
        except grpc.aio.AioRpcError as error:
            self._reach.shun(client, node)
            if not may_have_happened(error) or isinstance(call, Get):
                return None
        answered = float("inf") if outcome is None else time.monotonic()
        self.history.append(
            Operation(
                client=client, key=key, call=call, sent=sent, answered=answered, outcome=outcome
            )
        )
        return outcome


def _chosen(rng: random.Random, value: bytes, known: int) -> Call:
    """Choose a call; half of the changes expect what the client last saw."""
    kind = rng.random()
    if kind < 0.4:
        return Get()
    expected = known if rng.random() < 0.5 else None
    return Put(value, expected) if kind < 0.85 else Delete(expected)
