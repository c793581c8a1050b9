"""Which shard a command or query belongs to, and how a batch is split over shards and joined."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from google.protobuf.message import Message

from quorate.plugin import Command, Invalid, Items
from quorate.v1.batch_pb2 import BatchReply, ItemRefusal, ShardRevision

#: Slots of a group; each belongs to one shard.
SLOTS: Final = 1_024


def shard_of(shard_key: bytes, shards: int) -> int:
    """Return the shard of a key in a group whose slots are cut evenly."""
    return zlib.crc32(shard_key) % SLOTS * shards // SLOTS


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What one shard carries out of a batch command."""

    shard: int
    command: Message
    #: The items' positions in the request.
    positions: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareReply:
    """What one shard answered to its share of a batch command."""

    share: Share
    revision: int
    reply: BatchReply


def split(command: Command[Any], message: Message, shards: int) -> list[Share]:
    """Cut a batch command into one command a shard, in the order of the shards.

    Raises `Invalid` for a batch that names one key twice, when its items say what their key is.
    """
    items: Items[Any, Any] | None = command.items
    if items is None:
        raise ValueError(f"command {message.DESCRIPTOR.full_name} is no batch")
    requested: Sequence[Any] = items.get(message)
    if items.key is not None:
        _check_keys([items.key(item) for item in requested])
    positions: dict[int, list[int]] = {}
    for position, item in enumerate(requested):
        positions.setdefault(shard_of(items.shard_key(item), shards), []).append(position)
    return [
        Share(
            shard=shard,
            command=items.make(message, [requested[position] for position in found]),
            positions=tuple(found),
        )
        for shard, found in sorted(positions.items())
    ]


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
        replies.update(zip(positions, answer.reply.replies, strict=False))
    total = sum(len(answer.share.positions) for answer in answers)
    return BatchReply(
        items=total,
        refusals=[refusals[position] for position in sorted(refusals)],
        replies=[replies.get(position, b"") for position in range(total)] if replies else [],
        revisions=[
            ShardRevision(shard=answer.share.shard, revision=answer.revision) for answer in answers
        ],
    )


def refused(share: Share, code: str, message: str) -> BatchReply:
    """Return the answer to a share that was refused as a whole: each of its items is refused."""
    count = len(share.positions)
    return BatchReply(
        items=count,
        refusals=[ItemRefusal(item=item, code=code, message=message) for item in range(count)],
    )


def _check_keys(named: Sequence[bytes]) -> None:
    seen: set[bytes] = set()
    for position, key in enumerate(named):
        if key in seen:
            raise Invalid("items", f"item {position} names the key {key!r} a second time")
        seen.add(key)


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
