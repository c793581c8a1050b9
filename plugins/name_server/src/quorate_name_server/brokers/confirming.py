"""Proposes registrations received without a majority once there is one again."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Final

from quorate.plugin import NodeApi
from quorate.v1.batch_pb2 import BatchReply

from quorate_name_server.metrics import UNCONFIRMED
from quorate_name_server.routes.known import KnownRoutes
from quorate_name_server.v1 import commands_pb2 as pb

#: Bytes of registrations per command, so that its handler does not delay others.
PART_BYTES: Final = 1 << 17

Part = list[tuple[int, pb.Registration]]


def parts_of(registrations: Mapping[int, pb.Registration]) -> Iterator[Part]:
    """Yield the items of each command with their positions; an item's last piece has its answer."""
    part: Part = []
    size = 0
    for position, registration in registrations.items():
        for piece in _pieces(registration):
            piece_bytes = piece.ByteSize()
            if part and size + piece_bytes > PART_BYTES:
                yield part
                part, size = [], 0
            part.append((position, piece))
            size += piece_bytes
    if part:
        yield part


def _pieces(registration: pb.Registration) -> Iterator[pb.Registration]:
    size = registration.ByteSize()
    count = -(-size // PART_BYTES)
    if count <= 1 or registration.drops_absent_topics:
        yield registration
        return
    head = pb.Registration()
    head.CopyFrom(registration)
    for field in ("topics", "mappings"):
        head.ClearField(field)
    for number in range(count):
        piece = pb.Registration()
        piece.CopyFrom(head)
        piece.partial = number + 1 < count
        piece.topics.extend(registration.topics[number::count])
        piece.mappings.extend(registration.mappings[number::count])
        yield piece


_log = logging.getLogger(__name__)

#: The pause between two attempts.
RETRY_S: Final = 1.0
#: The codes of failures after which a command may be proposed again.
_RETRIED: Final = ("UNAVAILABLE", "DEADLINE_EXCEEDED")


def may_be_retried(error: Exception) -> bool:
    """Return whether a command failed for lack of a majority or of time."""
    return isinstance(error, TimeoutError) or getattr(error, "code", "") in _RETRIED


async def confirm(node: NodeApi) -> None:
    """Propose unconfirmed registrations, and forget the answered ones."""
    unconfirmed = node.cache(KnownRoutes).unconfirmed
    for received, registration in unconfirmed.pending():
        for part in parts_of({0: registration}):
            command = pb.RegisterBrokers(brokers=[piece for _, piece in part])
            reply = await node.propose(command, BatchReply)
            if reply.refusals:
                _log.warning(
                    "%s of broker %s is not confirmed: %s",
                    registration.address,
                    registration.name,
                    reply.refusals[0].message,
                )
                # After a refused piece the data version must not be written.
                break
        unconfirmed.confirmed(received)


async def confirm_forever(node: NodeApi) -> None:
    """Propose unconfirmed registrations periodically, endlessly."""
    while True:
        await asyncio.sleep(RETRY_S)
        node.observe(UNCONFIRMED.name, len(node.cache(KnownRoutes).unconfirmed))
        try:
            await confirm(node)
        except Exception as error:  # noqa: BLE001 - the next attempt may succeed
            if not may_be_retried(error):
                _log.exception("proposing registrations failed, retrying")


@asynccontextmanager
async def confirming(node: NodeApi) -> AsyncIterator[None]:
    """Propose unconfirmed registrations during the node's lifespan."""
    task = asyncio.create_task(confirm_forever(node))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
