"""The contract of a batch command: it can be split over shards, and answers every item."""

from __future__ import annotations

from typing import Any, Final

from google.protobuf.message import Message

from quorate.plugin import Command
from quorate.testing.node import MemoryNode
from quorate.v1.batch_pb2 import BatchReply

#: Number of shards over which a batch is split, for comparison with one.
SHARDS: Final = 4


def shard_keys_of(command: Command[Any], message: Message) -> set[bytes]:
    """Return the shard keys by which a command, or the items of a batch, are routed."""
    if command.shard_key is not None:
        return {command.shard_key(message)}
    if command.items is not None:
        return {command.items.shard_key(item) for item in command.items.get(message)}
    return set()


def refusals_of(command: Command[Any], reply: bytes, answered: type[Message] | None) -> list[str]:
    """Return the refusals of a batch whose items were all refused; empty if any was applied."""
    if command.items is None or answered is not BatchReply:
        return []
    found = BatchReply.FromString(reply)
    if not found.items or len(found.refusals) < found.items:
        return []
    return [f"{each.code}: {each.message}" for each in found.refusals]


async def difference(
    one: MemoryNode, several: MemoryNode, command: Command[Any], batch: Message
) -> str:
    """Return the fault in the answers of one and of several shards to a batch; empty: none.

    The batch is proposed twice, since items that already exist are often refused.
    """
    if command.items is None:
        raise ValueError(f"command {batch.DESCRIPTOR.full_name} is no batch")
    asked = len(command.items.get(batch))
    if command.items.make(batch, command.items.get(batch)) != batch:
        return "items.make does not put back what items.get took out"
    for _ in range(2):
        try:
            alone = await one.propose(batch, BatchReply)
            split = await several.propose(batch, BatchReply)
        except Exception as error:  # noqa: BLE001 - whatever it raises is a finding
            return f"it was not answered item by item: {error}"
        if (alone.items, split.items) != (asked, asked):
            return f"{asked} items are asked, and {alone.items} and {split.items} answered"
        if _refusals(alone) != _refusals(split):
            return (
                f"one shard refuses the items {_refusals(alone)}, and {SHARDS} shards refuse "
                f"{_refusals(split)}: an item depends on others of another shard key"
            )
    return ""


def _refusals(reply: BatchReply) -> list[tuple[int, str]]:
    return [(refusal.item, refusal.code) for refusal in reply.refusals]
