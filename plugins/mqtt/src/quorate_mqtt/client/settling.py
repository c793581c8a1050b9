"""Waits until a registration that is quite new has come to every shard."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Final, TypeVar

from quorate.client import RejectedError
from quorate.v1.batch_pb2 import BatchReply, ItemRefusal, ShardRevision

from quorate_mqtt.brokers import UNKNOWN

I = TypeVar("I")  # noqa: E741 - the item of a batch, named as in the plugin reference
R = TypeVar("R")

#: A registration that is not known after this time is none.
_PATIENCE_S: Final = 5.0
_FIRST_PAUSE_S: Final = 0.01
_LONGEST_PAUSE_S: Final = 0.2


async def settled(attempt: Callable[[], Awaitable[R]]) -> R:
    """Return what an attempt gives, made again while its shard does not know the broker yet."""
    patience = _Patience()
    while True:
        try:
            return await attempt()
        except RejectedError as error:
            if error.code != UNKNOWN or not await patience.wait():
                raise


async def settled_each(
    attempt: Callable[[Sequence[I]], Awaitable[BatchReply]], items: Iterable[I]
) -> BatchReply:
    """Return the answers to items; an attempt with those whose shard does not know the broker yet
    is made again.
    """
    wanted, patience = list(items), _Patience()
    whole = await attempt(wanted)
    while waiting := [each.item for each in whole.refusals if each.code == UNKNOWN]:
        if not await patience.wait():
            break
        part = await attempt([wanted[position] for position in waiting])
        whole = _with(whole, waiting, part)
    return whole


class _Patience:
    """Waits a little longer each time, as long as a registration may still come."""

    def __init__(self) -> None:
        self._loop: Final = asyncio.get_running_loop()
        self._deadline: Final = self._loop.time() + _PATIENCE_S
        self._pause_s = _FIRST_PAUSE_S

    async def wait(self) -> bool:
        """Wait, unless it is over; tell whether it is not."""
        if self._loop.time() + self._pause_s > self._deadline:
            return False
        await asyncio.sleep(self._pause_s)
        self._pause_s = min(2 * self._pause_s, _LONGEST_PAUSE_S)
        return True


def _with(whole: BatchReply, positions: Sequence[int], part: BatchReply) -> BatchReply:
    """Return answers with those to the items at these positions in the place of earlier ones."""
    refusals = {each.item: each for each in whole.refusals}
    for position in positions:
        del refusals[position]
    for each in part.refusals:
        position = positions[each.item]
        refusals[position] = ItemRefusal(item=position, code=each.code, message=each.message)
    replies = list(whole.replies) or [b""] * whole.items
    for position, reply in zip(positions, part.replies, strict=False):
        replies[position] = reply
    forgotten = {*whole.forgotten, *(positions[item] for item in part.forgotten)}
    revisions = {each.shard: each.revision for each in (*whole.revisions, *part.revisions)}
    return BatchReply(
        items=whole.items,
        refusals=[refusals[position] for position in sorted(refusals)],
        replies=replies if whole.replies or part.replies else (),
        revisions=[
            ShardRevision(shard=shard, revision=revisions[shard]) for shard in sorted(revisions)
        ],
        forgotten=sorted(forgotten),
    )
