"""How a batch command is split over shards, and how the answers are joined."""

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
class Share:
    """What one shard carries out of a command."""

    shard: ShardId
    command: Message
    #: Every slot that it touches, in order.
    slots: tuple[int, ...]
    #: The positions of its items in the request; of a command that is no batch, none.
    positions: tuple[int, ...] = ()
    #: Items of the request that no shard is given, since they repeat a key: on the first share.
    repeated: tuple[ItemRefusal, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareReply:
    """What one shard answered to its share of a batch command; `revision` 0: it was not applied."""

    share: Share
    revision: int
    reply: BatchReply


def split(
    command: Command[Any],
    message: Message,
    holder: Callable[[int], ShardId],
    *,
    key_bytes: int | None = None,
) -> list[Share]:
    """Cut a batch command into one command a shard, in the order of the shards.

    `holder` gives the shard of a slot, always of one group. Raises `Invalid` for an item whose key
    is longer than `key_bytes`. When items say what their key is, the first one of a key is carried
    out, and those after it are refused in their place.
    """
    items: Items[Any, Any] | None = command.items
    if items is None:
        raise ValueError(f"command {message.DESCRIPTOR.full_name} is no batch")
    # Read once: an item of a repeated field is made anew each time that it is asked for.
    requested: Sequence[Any] = list(items.get(message))
    repeated: tuple[ItemRefusal, ...] = ()
    named = list(map(items.shard_key, requested))
    if items.key is not None:
        # Many rows are their own shard keys, which are not computed twice then.
        found = named if items.key is items.shard_key else list(map(items.key, requested))
        if key_bytes is not None and max(map(len, found), default=0) > key_bytes:
            _check_lengths(found, key_bytes, items_field(message, requested))
        if len(set(found)) < len(found):
            repeated = _repeated(found, items_field(message, requested))
    if key_bytes is not None and max(map(len, named), default=0) > key_bytes:
        _check_lengths(named, key_bytes, items_field(message, requested))
    # Where the items to carry out stand in the request.
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
        whole = Share(
            shard=owners[0],
            command=message,
            slots=tuple(distinct),
            positions=tuple(places),
            repeated=repeated,
        )
        return [whole]
    # A batch touches hundreds of slots, and their shards are of one group: they go by numbers.
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
        Share(
            shard=shards[number],
            command=items.make(message, [requested[position] for position in positions[number]]),
            slots=tuple(held[number]),
            positions=tuple(positions[number]),
            repeated=() if place else repeated,
        )
        for place, number in enumerate(sorted(shards))
    ]


def within(share: Share, part: Share) -> Share:
    """Return what became of a part when its share was cut again, by the positions of the request.

    A share that is no batch is never cut, and has no positions.
    """
    positions = tuple(share.positions[position] for position in part.positions)
    return Share(
        shard=part.shard,
        command=part.command,
        slots=part.slots,
        positions=positions,
        # One of the parts has the first item.
        repeated=share.repeated if 0 in part.positions else (),
    )


def join(answers: Sequence[ShareReply]) -> BatchReply:
    """Return the answer to the whole batch, its items in the order of the request.

    Raises `ValueError` for a share that was not answered item by item.
    """
    refusals: dict[int, ItemRefusal] = {}
    replies: dict[int, bytes] = {}
    for answer in answers:
        positions = answer.share.positions
        _check_answer(answer)
        for refusal in answer.reply.refusals:
            position = positions[refusal.item]
            refusals[position] = ItemRefusal(
                item=position, code=refusal.code, message=refusal.message
            )
        for repeated in answer.share.repeated:
            refusals[repeated.item] = repeated
        replies.update(zip(positions, answer.reply.replies, strict=False))
    total = sum(len(each.share.positions) + len(each.share.repeated) for each in answers)
    applied = sorted((each.share.shard.number, each.revision) for each in answers if each.revision)
    return BatchReply(
        items=total,
        refusals=[refusals[position] for position in sorted(refusals)],
        replies=[replies.get(position, b"") for position in range(total)] if replies else [],
        revisions=[ShardRevision(shard=shard, revision=revision) for shard, revision in applied],
    )


def refused(share: Share, code: str, message: str) -> BatchReply:
    """Return the answer to a share that was refused as a whole: each of its items is refused."""
    count = len(share.positions)
    return BatchReply(
        items=count,
        refusals=[ItemRefusal(item=item, code=code, message=message) for item in range(count)],
    )


def items_field(message: Message, items: Sequence[Any]) -> str:
    """Return the field that holds the items of a batch; "items" when they are of no single one."""
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
                f"item {position} has a key of {len(key)} bytes, and {key_bytes} are the most "
                "(limits.key_bytes)",
            )


def _check_answer(answer: ShareReply) -> None:
    count, reply = len(answer.share.positions), answer.reply
    name = answer.share.command.DESCRIPTOR.full_name
    if reply.items != count:
        raise ValueError(f"{name} answered {reply.items} items of {count}: set BatchReply.items")
    if reply.replies and len(reply.replies) != count:
        raise ValueError(f"{name} gave {len(reply.replies)} replies for {count} items")
    stray = [refusal.item for refusal in reply.refusals if refusal.item >= count]
    if stray:
        raise ValueError(f"{name} refused item {stray[0]} of a share of {count} items")
