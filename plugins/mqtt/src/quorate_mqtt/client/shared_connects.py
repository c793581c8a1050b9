"""Connects of many coroutines that share commands."""

from __future__ import annotations

import asyncio
from asyncio import Future, Task
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from quorate.client import (
    AsyncClient,
    InvalidError,
    OutcomeUnknownError,
    QuorateError,
    Records,
    RejectedError,
    UnavailableError,
)
from quorate.v1.batch_pb2 import BatchReply, ItemRefusal

from quorate_mqtt.shards import GROUP, client_shard
from quorate_mqtt.v1 import sessions_pb2 as pb

#: Refusals of a command as a whole, for the fault of one item perhaps, and of an item that a
#: command of its own describes better. Nothing was done for any of these.
_ALONE: Final = frozenset({"INTERNAL", "INVALID_ARGUMENT", "TOO_LARGE"})


@dataclass(frozen=True, slots=True)
class _Arrival:
    """A client that waits for its turn."""

    like: pb.ConnectSessions
    connection: pb.SessionConnect
    client: bytes
    answer: Future[pb.ConnectReply]


class SharedConnects:
    """Connects clients: what is asked in one turn of the loop becomes a command for each shard.

    A command for each client would be carried out ten times as slowly. Clients share a command
    only with those of their broker, their tenant and their shard, so that the limits of a tenant
    and a shard without a leader delay nobody else. Connects of one client keep their order.
    """

    def __init__(self, q: AsyncClient, records: Records[Any]) -> None:
        self._q: Final = q
        self._records: Final = records
        self._waiting: list[_Arrival] = []
        self._commands: Final[set[Task[None]]] = set()

    async def connect(
        self, like: pb.ConnectSessions, connection: pb.SessionConnect
    ) -> pb.ConnectReply:
        """Connect a client to the broker that `like` names."""
        loop = asyncio.get_running_loop()
        client = client_shard(connection.tenant, connection.client_id)
        arrival = _Arrival(like, connection, client, loop.create_future())
        self._waiting.append(arrival)
        if len(self._waiting) == 1:
            loop.call_soon(self._send)
        return await arrival.answer

    def _send(self) -> None:
        waiting, self._waiting = self._waiting, []
        shares: dict[tuple[str, int, str, str], list[_Arrival]] = {}
        for each in waiting:
            if not each.answer.done():
                shard = self._q.likely_shard(GROUP, each.client)
                named = each.like.broker, each.like.broker_epoch, each.connection.tenant, shard
                shares.setdefault(named, []).append(each)
        for share in shares.values():
            command = asyncio.get_running_loop().create_task(self._carry_out(share))
            self._commands.add(command)
            command.add_done_callback(self._commands.discard)

    async def _carry_out(self, share: Sequence[_Arrival]) -> None:
        try:
            while share:
                # A command takes each client once.
                first = {each.client: each for each in reversed(share)}
                await self._connect(list(first.values())[::-1])
                share = [each for each in share if first[each.client] is not each]
        except BaseException as error:
            for each in share:
                if not each.answer.done():
                    each.answer.set_exception(error)
            raise

    async def _connect(self, arrivals: Sequence[_Arrival]) -> None:
        if len(arrivals) == 1:
            await self._connect_alone(arrivals[0])
            return
        like, connections = arrivals[0].like, [each.connection for each in arrivals]
        try:
            reply = await self._records.do("Connect", connections, like=like)
        except QuorateError as error:
            if _code(error) in _ALONE:
                await asyncio.gather(*map(self._connect_alone, arrivals))
            else:
                for each in arrivals:
                    _settle(each, error)
            return
        alone = _answer(arrivals, reply)
        await asyncio.gather(*map(self._connect_alone, alone))

    async def _connect_alone(self, arrival: _Arrival) -> None:
        try:
            answer = await self._records.do(
                "Connect", arrival.connection, pb.ConnectReply, like=arrival.like
            )
        except QuorateError as error:
            _settle(arrival, error)
        else:
            _settle(arrival, answer)


def _answer(arrivals: Sequence[_Arrival], reply: BatchReply) -> list[_Arrival]:
    """Answer each arrival by its place, and return those that are to be sent alone."""
    refused = {refusal.item: refusal for refusal in reply.refusals}
    alone: list[_Arrival] = []
    for place, each in enumerate(arrivals):
        refusal = refused.get(place)
        if refusal is None:
            encoded = reply.replies[place] if reply.replies else b""
            _settle(each, pb.ConnectReply.FromString(encoded))
        elif refusal.code in _ALONE:
            alone.append(each)
        else:
            _settle(each, _error_of(refusal))
    return alone


def _settle(arrival: _Arrival, result: pb.ConnectReply | QuorateError) -> None:
    """Answer an arrival, unless its caller has left."""
    if arrival.answer.done():
        return
    if isinstance(result, QuorateError):
        arrival.answer.set_exception(result)
    else:
        arrival.answer.set_result(result)


def _code(error: QuorateError) -> str:
    if isinstance(error, RejectedError):
        return error.code
    return "INVALID_ARGUMENT" if isinstance(error, InvalidError) else ""


def _error_of(refusal: ItemRefusal) -> QuorateError:
    match refusal.code:
        case "OUTCOME_UNKNOWN":
            return OutcomeUnknownError(refusal.message)
        case "UNAVAILABLE":
            return UnavailableError(refusal.message)
    return RejectedError(refusal.code, refusal.message)
