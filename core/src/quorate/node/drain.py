"""Hands what this node leads to others before it stops, so that nobody waits for an election."""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

from quorate.consensus.refusals import RefusedError
from quorate.groups.shard.shard import Shard
from quorate.groups.timing import pause

_LOOK_S: Final = 0.02


async def hand_over(
    shards: Iterable[Shard], loop: asyncio.AbstractEventLoop, timeout_s: float
) -> tuple[list[Shard], list[Shard]]:
    """Transfer every led shard that another voter can lead; return those, and those kept."""
    deadline = loop.time() + timeout_s
    led = [shard for shard in shards if shard.stopped is None and shard.leads]
    await asyncio.gather(*(_hand_over(shard, loop, deadline) for shard in led))
    kept = [shard for shard in led if shard.leads]
    return [shard for shard in led if shard not in kept], kept


async def _hand_over(shard: Shard, loop: asyncio.AbstractEventLoop, deadline: float) -> None:
    while shard.leads and loop.time() < deadline:
        heir = _heir(shard)
        if heir is None:
            return
        # One that is under way already, or that the replica cannot begin now, is looked at again.
        with suppress(RefusedError):
            shard.transfer(heir)
        await pause(loop, _LOOK_S)


def _heir(shard: Shard) -> str | None:
    """Return the voter that needs the least to lead; None if none has been in touch lately."""
    status = shard.replica.status()
    if status.configuration is None:
        return None
    voters = set(status.configuration.voters)
    patience_s = shard.settings.timing.election_max_s
    alive = [
        each for each in status.followers if each.peer in voters and each.silent_s < patience_s
    ]
    return max(alive, key=lambda each: each.match).peer.node if alive else None
