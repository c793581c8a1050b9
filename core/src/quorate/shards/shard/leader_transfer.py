"""Transfers the leadership of a shard to a named node."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from quorate.consensus.progress import Mode
from quorate.consensus.refusals import NotLeaderError, RefusedError, TransferRefusedError
from quorate.consensus.status import FollowerStatus
from quorate.shards.refusals import NoLeaderError
from quorate.shards.shard.shard import Shard
from quorate.shards.timing import pause

_LOOK_S: Final = 0.02


def heir_of(shard: Shard, unfit: Callable[[str], bool] = lambda node: False) -> str | None:
    """Return the voter that needs the least to lead; None if none was in touch lately."""
    ready = _in_touch(shard, unfit)
    return max(ready, key=lambda each: each.match).peer.node if ready else None


def is_majority_without(shard: Shard, unfit: Callable[[str], bool]) -> bool:
    """Whether the other voters that are in touch and fit are a majority by themselves."""
    configuration = shard.replica.status().configuration
    return configuration is not None and len(_in_touch(shard, unfit)) >= configuration.majority


def _in_touch(shard: Shard, unfit: Callable[[str], bool]) -> list[FollowerStatus]:
    status = shard.replica.status()
    voters = () if status.configuration is None else status.configuration.voters
    patience_s = shard.settings.timing.election_max_s
    return [
        each
        for each in status.followers
        if each.peer in voters and each.silent_s < patience_s and not unfit(each.peer.node)
    ]


async def give_away(
    shard: Shard,
    loop: asyncio.AbstractEventLoop,
    deadline: float,
    unfit: Callable[[str], bool] = lambda node: False,
) -> None:
    """Transfer the leadership of a shard until it is led elsewhere, or no other voter can lead.

    Unfit nodes get it only if no other node can lead.
    """
    while shard.leads and loop.time() < deadline:
        heir = heir_of(shard, unfit) or heir_of(shard)
        if heir is None:
            return
        # A transfer that is under way, or cannot begin now, is tried again.
        with suppress(RefusedError):
            shard.transfer(heir)
        await pause(loop, _LOOK_S)


async def transfer(
    shard: Shard, node: str, loop: asyncio.AbstractEventLoop, timeout_s: float
) -> None:
    """Return once a voter leads a shard that this node leads now.

    A voter that lags far is refused: no write is accepted while it catches up. Raises
    `NoLeaderError` where this node does not lead, and `TransferRefusedError`.
    """
    if shard.leader is not None and shard.leader.node == node:
        return
    deadline = loop.time() + timeout_s
    check_ready(shard, node)
    try:
        shard.transfer(node)
    except NotLeaderError as error:
        raise NoLeaderError(shard.id, error.leader) from None
    # The replica gives a transfer up after an election timeout, and takes writes again.
    patience = loop.time() + shard.settings.timing.election_max_s
    while shard.leader is None or shard.leader.node != node:
        now = loop.time()
        if shard.stopped is not None or now >= deadline or (shard.leads and now >= patience):
            raise TransferRefusedError(f"{_standing(shard, node)}; look at both, and try again")
        if shard.leader is not None and not shard.leads:
            raise TransferRefusedError(
                f"{shard.leader.node} was elected to lead shard {shard.id} meanwhile; ask there"
            )
        await pause(loop, _LOOK_S)


def check_ready(shard: Shard, node: str) -> None:
    """Refuse a follower whose log is not known to agree, or that has fallen silent.

    Raises `TransferRefusedError`.
    """
    patience_s = shard.settings.timing.election_max_s
    for each in shard.status().replica.followers:
        ready = each.mode == Mode.REPLICATE.value and each.silent_s <= patience_s
        if each.peer.node == node and not ready:
            raise TransferRefusedError(f"{_standing(shard, node)}; try again when it has caught up")


def _standing(shard: Shard, node: str) -> str:
    """Return how far a voter lags."""
    status = shard.status().replica
    for each in status.followers:
        if each.peer.node == node:
            return (
                f"{node} does not lead shard {shard.id}: it holds the log up to index"
                f" {each.match} of {status.last}, and was heard of {each.silent_s:.1f} s ago"
            )
    return f"{node} does not lead shard {shard.id}, and this node knows no more of it"
