"""Splits a batch command by shard and joins the replies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import Message

from quorate.plugin.declarations import Command, Items
from quorate.plugin.outcomes import Invalid
from quorate.plugin.shard_id import ShardId
from quorate.plugin.slots import slots_of
from quorate.v1.batch_pb2 import BatchReply, ItemRefusal, ShardRevision


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardCommand:
    """The part of a command that one shard carries out."""

    shard: ShardId
    message: Message
    #: Every slot that it touches, in order.
    slots: tuple[int, ...]
    #: The positions of its items in the request; empty when the command is not a batch.
    positions: tuple[int, ...] = ()
    #: Items refused because they repeat a key; only the first part has them.
    repeated: tuple[ItemRefusal, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardReply:
    """The reply of one shard to its part of a batch; `revision` 0: it was not applied."""

    command: ShardCommand
    revision: int
    reply: BatchReply


def split(
    command: Command[Any],
    message: Message,
    holder: Callable[[int], ShardId],
    *,
    key_bytes: int | None = None,
) -> list[ShardCommand]:
    """Return one command per shard, in the order of the shards.

    `holder` returns the shard of a slot, always of one group. Raises `Invalid` for an item whose
    key is longer than `key_bytes`. When items have keys, the first item of a key is carried out,
    and later ones are refused.
    """
    items: Items[Any, Any] | None = command.items
    if items is None:
        raise ValueError(f"command {message.DESCRIPTOR.full_name} is not a batch")
    # Read once: each access to an item of a repeated field creates a new object.
    requested: Sequence[Any] = list(items.get(message))
    repeated: tuple[ItemRefusal, ...] = ()
    named = list(map(items.shard_key, requested))
    if items.key is not None:
        # Where the key is the shard key, it is computed once.
        found = named if items.key is items.shard_key else list(map(items.key, requested))
        if key_bytes is not None and max(map(len, found), default=0) > key_bytes:
            _check_lengths(found, key_bytes, items_field(message, requested))
        if len(set(found)) < len(found):
            repeated = _repeated(found, items_field(message, requested))
    if key_bytes is not None and max(map(len, named), default=0) > key_bytes:
        _check_lengths(named, key_bytes, items_field(message, requested))
    # The positions in the request of the items to carry out.
    places: Sequence[int] = range(len(named))
    if repeated:
        left_out = {refusal.item for refusal in repeated}
        places = [place for place in places if place not in left_out]
        message = items.make(message, [requested[place] for place in places])
        named = [named[place] for place in places]
    touched = slots_of(named)
    distinct = sorted(set(touched))
    owners = list(map(holder, distinct))
    if owners and owners.count(owners[0]) == len(owners):
        whole = ShardCommand(
            shard=owners[0],
            message=message,
            slots=tuple(distinct),
            positions=tuple(places),
            repeated=repeated,
        )
        return [whole]
    # All shards are of one group, and a number hashes faster than a `ShardId`.
    shards: dict[int, ShardId] = {}
    held: dict[int, list[int]] = {}
    for slot, shard in zip(distinct, owners, strict=True):
        shards[shard.number] = shard
        held.setdefault(shard.number, []).append(slot)
    positions: dict[int, list[int]] = {number: [] for number in shards}
    put = {slot: positions[number].append for number, slots in held.items() for slot in slots}
    for place, slot in zip(places, touched, strict=True):
        put[slot](place)
    return [
        ShardCommand(
            shard=shards[number],
            message=items.make(message, [requested[position] for position in positions[number]]),
            slots=tuple(held[number]),
            positions=tuple(positions[number]),
            repeated=() if place else repeated,
        )
        for place, number in enumerate(sorted(shards))
    ]


def within(whole: ShardCommand, part: ShardCommand) -> ShardCommand:
    """Return a part of a part that was split again, with the positions of the original request."""
    positions = tuple(whole.positions[position] for position in part.positions)
    return ShardCommand(
        shard=part.shard,
        message=part.message,
        slots=part.slots,
        positions=positions,
        # Exactly one part has the first item.
        repeated=whole.repeated if 0 in part.positions else (),
    )


def join(answers: Sequence[ShardReply]) -> BatchReply:
    """Return the reply to the whole batch, its items in the order of the request.

    Raises `ValueError` for a part without a reply per item.
    """
    if len(answers) == 1 and answers[0].revision:
        [answer] = answers
        if not (answer.command.repeated or answer.reply.refusals):
            # Nearly every batch: all of its items are on one shard, and none was refused.
            _check_answer(answer)
            del answer.reply.revisions[:]
            answer.reply.revisions.add(shard=answer.command.shard.number, revision=answer.revision)
            return answer.reply
    refusals: dict[int, ItemRefusal] = {}
    replies: dict[int, bytes] = {}
    for answer in answers:
        positions = answer.command.positions
        _check_answer(answer)
        for refusal in answer.reply.refusals:
            position = positions[refusal.item]
            refusals[position] = ItemRefusal(
                item=position, code=refusal.code, message=refusal.message
            )
        for repeated in answer.command.repeated:
            refusals[repeated.item] = repeated
        replies.update(zip(positions, answer.reply.replies, strict=False))
    total = sum(len(each.command.positions) + len(each.command.repeated) for each in answers)
    applied = sorted(
        (each.command.shard.number, each.revision) for each in answers if each.revision
    )
    return BatchReply(
        items=total,
        refusals=[refusals[position] for position in sorted(refusals)],
        replies=[replies.get(position, b"") for position in range(total)] if replies else [],
        revisions=[ShardRevision(shard=shard, revision=revision) for shard, revision in applied],
    )


def refused(part: ShardCommand, code: str, message: str) -> BatchReply:
    """Return the reply that refuses every item of a part."""
    count = len(part.positions)
    return BatchReply(
        items=count,
        refusals=[ItemRefusal(item=item, code=code, message=message) for item in range(count)],
    )


def items_field(message: Message, items: Sequence[Any]) -> str:
    """Return the field that holds the items of a batch, or "items" if no single field does."""
    return next((field.name for field, value in message.ListFields() if value == items), "items")


def _repeated(named: Sequence[bytes], field: str) -> tuple[ItemRefusal, ...]:
    first: dict[bytes, int] = {}
    return tuple(
        ItemRefusal(
            item=position,
            code="INVALID_ARGUMENT",
            message=f"{field}[{position}]: has the key of {field}[{before}]; name each once",
        )
        for position, key in enumerate(named)
        if (before := first.setdefault(key, position)) != position
    )


def _check_lengths(named: Sequence[bytes], key_bytes: int, field: str) -> None:
    for position, key in enumerate(named):
        if len(key) > key_bytes:
            raise Invalid(
                f"{field}[{position}]",
                f"item {position} has a key of {len(key)} bytes; at most {key_bytes} allowed "
                "(limits.key_bytes)",
            )


def _check_answer(answer: ShardReply) -> None:
    count, reply = len(answer.command.positions), answer.reply
    name = answer.command.message.DESCRIPTOR.full_name
    if reply.items != count:
        raise ValueError(f"{name} answered {reply.items} items of {count}: set BatchReply.items")
    if reply.replies and len(reply.replies) != count:
        raise ValueError(f"{name} gave {len(reply.replies)} replies for {count} items")
    stray = [refusal.item for refusal in reply.refusals if refusal.item >= count]
    if stray:
        raise ValueError(f"{name} refused item {stray[0]} of {count}")
