"""Splits a batch command by shard and joins the replies."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from google.protobuf.message import Message

from quorate.plugin.outcomes import Invalid
from quorate.plugin.shard_id import ShardId
from quorate.plugin.slots import KeySlots, slots_of
from quorate.v1.batch_pb2 import BatchReply, ItemRefusal, ShardRevision

if TYPE_CHECKING:
    # A client does not import all declarations.
    from quorate.plugin.declarations import Command, Items, ReadBatch

#: The code of an item that is refused for its content.
INVALID: Final = "INVALID_ARGUMENT"
#: How the message of a refusal begins that names the item, like `users[3].name: must not be empty`.
_PLACE: Final = re.compile(r"(\w+)\[\d+\]")


@dataclass(slots=True, kw_only=True)
class ShardCommand:
    """The part of a command that one shard carries out.

    It never changes; a frozen class takes three times as long to make.
    """

    shard: Final[ShardId]
    message: Final[Message]
    #: Every slot that it touches, in order.
    slots: Final[Sequence[int]]
    #: The positions of its items in the request; empty when the command is not a batch.
    positions: Final[tuple[int, ...]] = ()
    #: Items that are refused here, such as repetitions of a key; only the first part has them.
    refused: Final[tuple[ItemRefusal, ...]] = ()
    #: What was read of `message` already.
    read: Final[ReadBatch | None] = None
    #: `message`, serialized, if that was done already.
    payload: Final[bytes | None] = None


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
    read: ReadBatch | None = None,
    payload: bytes | None = None,
    only: ShardId | None = None,
) -> list[ShardCommand]:
    """Return one command per shard, in the order of the shards.

    `holder` returns the shard of a slot, always of one group, and `only` is that of all slots, if
    there is one; `read` is what was read of the message already, and `payload` is the message,
    serialized. An item whose key is longer than `key_bytes` is refused in its place; raises
    `Invalid` when every item is. When items have keys, the first item of a key is carried out, and
    later ones are refused.
    """
    items: Items[Any, Any] | None = command.items
    if items is None:
        raise ValueError(f"command {message.DESCRIPTOR.full_name} is not a batch")
    requested: Sequence[Any] = items.get(message)
    if read is None:
        # Read once: each access to an item of a repeated field creates a new object.
        requested = list(requested)
    left_out: dict[int, ItemRefusal] = {}
    named: Sequence[bytes]
    found: Sequence[bytes]
    if read is None:
        named = found = list(map(items.shard_key, requested))
        # Where the key is the shard key, it is computed once.
        if items.key is not None and items.key is not items.shard_key:
            found = list(map(items.key, requested))
    else:
        named, found = read.shard_keys, read.keys
    if items.key is not None:
        if key_bytes is not None and max(map(len, found), default=0) > key_bytes:
            left_out = _too_long(found, key_bytes, items_field(message, requested))
        if len(set(found)) < len(found):
            left_out = _repeated(found, items_field(message, requested)) | left_out
    longest = 0 if named is found and items.key is not None else max(map(len, named), default=0)
    if key_bytes is not None and longest > key_bytes:
        left_out |= _too_long(named, key_bytes, items_field(message, requested))
    # The positions in the request of the items to carry out.
    places: Sequence[int] = range(len(named))
    if left_out:
        places = [place for place in places if place not in left_out]
        message = items.make(message, [requested[place] for place in places])
        named = [named[place] for place in places]
    refused = tuple(left_out[place] for place in sorted(left_out))

    def whole(shard: ShardId, slots: Sequence[int]) -> list[ShardCommand]:
        return [
            ShardCommand(
                shard=shard,
                message=message,
                slots=slots,
                positions=tuple(places),
                refused=refused,
                read=None if left_out else read,
                payload=None if left_out else payload,
            )
        ]

    if named and only is not None:
        return whole(only, KeySlots(named))
    touched = slots_of(named)
    distinct = sorted(set(touched))
    owners = list(map(holder, distinct))
    if owners and owners.count(owners[0]) == len(owners):
        return whole(owners[0], tuple(distinct))
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
            refused=() if place else refused,
        )
        for place, number in enumerate(sorted(shards))
    ]


def split_rest(
    command: Command[Any],
    message: Message,
    refused: Sequence[ItemRefusal],
    holder: Callable[[int], ShardId],
    *,
    key_bytes: int | None = None,
) -> list[ShardCommand]:
    """Split as `split` does, without some items, which are refused in their places."""
    items: Items[Any, Any] | None = command.items
    if items is None:
        raise ValueError(f"command {message.DESCRIPTOR.full_name} is not a batch")
    requested: Sequence[Any] = list(items.get(message))
    left_out = {refusal.item for refusal in refused}
    places = [place for place in range(len(requested)) if place not in left_out]
    rest = items.make(message, [requested[place] for place in places])
    return [
        replace(
            part,
            positions=tuple(places[position] for position in part.positions),
            refused=(
                *(at_place(each, places) for each in part.refused),
                *(() if number else refused),
            ),
        )
        for number, part in enumerate(split(command, rest, holder, key_bytes=key_bytes))
    ]


def within(whole: ShardCommand, part: ShardCommand) -> ShardCommand:
    """Return a part of a part that was split again, with the positions of the original request."""
    return replace(
        part,
        positions=tuple(whole.positions[position] for position in part.positions),
        # Exactly one part has the first item.
        refused=whole.refused if 0 in part.positions else (),
        read=None,
        payload=None,
    )


def join(answers: Sequence[ShardReply]) -> BatchReply:
    """Return the reply to the whole batch, its items in the order of the request.

    Raises `ValueError` for a part without a reply per item.
    """
    if len(answers) == 1 and answers[0].revision:
        [answer] = answers
        if not (answer.command.refused or answer.reply.refusals):
            # Nearly every batch: all items are on one shard, without a refusal.
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
            refusals[positions[refusal.item]] = at_place(refusal, positions)
        for refusal in answer.command.refused:
            refusals[refusal.item] = refusal
        replies.update(zip(positions, answer.reply.replies, strict=False))
    total = sum(len(each.command.positions) + len(each.command.refused) for each in answers)
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


def at_place(refusal: ItemRefusal, positions: Sequence[int]) -> ItemRefusal:
    """Return the refusal of an item of a part as that of the item of the whole request.

    Its message names the item, and the one before it that has the same key, by the field.
    """
    message, found = refusal.message, _PLACE.match(refusal.message)
    if refusal.code == INVALID and found is not None:
        message = renumbered(message, found[1], positions)
    return ItemRefusal(item=positions[refusal.item], code=refusal.code, message=message)


def names_item(field: str) -> bool:
    """Whether the field of a refusal is within an item of a batch."""
    return _PLACE.match(field) is not None


def renumbered(text: str, field: str, positions: Sequence[int]) -> str:
    """Return a text that names items of a part by a field with their positions in the request."""

    def moved(place: re.Match[str]) -> str:
        number = int(place[1])
        return f"{field}[{positions[number]}]" if number < len(positions) else place[0]

    # A field of the same name may lie within an item.
    return re.sub(rf"(?<![.\w]){re.escape(field)}\[(\d+)\]", moved, text)


def wrong_items(
    items: Items[Any, Any],
    message: Message,
    check: Callable[[Any], None],
    refused: Sequence[ItemRefusal] = (),
) -> tuple[ItemRefusal, ...]:
    """Return `refused`, and the refusals of further items, each of which `check` refuses alone.

    Raises `Invalid` when that is no fault of single items: every batch of one is wrong then, or
    none is, and the rest is as wrong as the whole was.
    """
    requested = list(items.get(message))
    found = {each.item: each for each in refused}
    for position, item in enumerate(requested):
        if position in found:
            continue
        try:
            check(items.make(message, [item]))
        except Invalid as wrong:
            place = _PLACE.match(wrong.field)
            if place is None:
                raise
            reason = renumbered(str(wrong), place[1], [position])
            found[position] = ItemRefusal(item=position, code=INVALID, message=reason)
    rest = [item for position, item in enumerate(requested) if position not in found]
    if rest:
        check(items.make(message, rest))
    return tuple(found[position] for position in sorted(found))


def _repeated(named: Sequence[bytes], field: str) -> dict[int, ItemRefusal]:
    first: dict[bytes, int] = {}
    return {
        position: ItemRefusal(
            item=position,
            code=INVALID,
            message=f"{field}[{position}]: has the key of {field}[{before}]; name each once",
        )
        for position, key in enumerate(named)
        if (before := first.setdefault(key, position)) != position
    }


def _too_long(named: Sequence[bytes], key_bytes: int, field: str) -> dict[int, ItemRefusal]:
    wrong = {
        position: Invalid(
            f"{field}[{position}]",
            f"item {position} has a key of {len(key)} bytes; at most {key_bytes} allowed "
            "(limits.key_bytes)",
        )
        for position, key in enumerate(named)
        if len(key) > key_bytes
    }
    if len(wrong) == len(named):
        raise wrong[0]
    return {
        position: ItemRefusal(item=position, code=INVALID, message=str(each))
        for position, each in wrong.items()
    }


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
