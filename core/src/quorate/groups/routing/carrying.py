"""How one command comes to the leader of its shard, wherever that is."""

import asyncio
from typing import Final, NamedTuple

from quorate.apply.entries import LoggedCommand, Stamp
from quorate.apply.outcomes import Outcome
from quorate.consensus.messages import Peer
from quorate.groups.pause import Pause
from quorate.groups.refusals import (
    ExhaustedError,
    FencedError,
    NoLeaderError,
    NotProposedError,
    NotProposedInTimeError,
    UnknownShardError,
)
from quorate.groups.routing.forwarding import ForwardedCommand, Forwarder
from quorate.groups.routing.local import LocalShards
from quorate.plugin import ShardRef
from quorate.storage.shard_id import ShardId


class Request(NamedTuple):
    """What all commands of one call have in common."""

    #: On the loop's clock.
    deadline: float
    stamp: Stamp | None = None
    fence: ShardRef | None = None
    caller: str = ""


class Carrier:
    """Proposes here or one hop away, and tries again what was surely not proposed."""

    def __init__(
        self, node: str, shards: LocalShards, forwarder: Forwarder, loop: asyncio.AbstractEventLoop
    ) -> None:
        self._node: Final = node
        self._shards: Final = shards
        self._forwarder: Final = forwarder
        self._loop: Final = loop

    async def carry(self, shard: ShardId, logged: LoggedCommand, request: Request) -> Outcome:
        """Return what became of a command.

        While no leader is known, or another one than was thought, it is tried again until the
        deadline. Raises `NotProposedError`, `OutcomeUnknownError` and `FencedError`.
        """
        pause = Pause(self._loop)
        hint: Peer | None = None
        while True:
            try:
                return await self._attempt(shard, logged, request, hint, pause.count)
            except (NotProposedInTimeError, ExhaustedError, UnknownShardError):
                raise
            except NotProposedError as error:
                hint = error.leader if isinstance(error, NoLeaderError) else None
                # News of another leader are followed at once, but not in circles.
                if hint is None or hint.node == self._node or pause.count:
                    await self.wait(pause, request, error)
                else:
                    pause.count += 1

    async def wait(self, pause: Pause, request: Request, error: NotProposedError) -> None:
        """Wait before the next attempt; raises `NotProposedInTimeError` when there is none."""
        if not await pause.until(request.deadline):
            raise NotProposedInTimeError(
                "the deadline passed and nothing was proposed, so trying again is safe; the last "
                f"reason was: {error}"
            ) from error

    async def _attempt(
        self,
        shard: ShardId,
        logged: LoggedCommand,
        request: Request,
        hint: Peer | None,
        attempt: int,
    ) -> Outcome:
        term = self._fenced_term(shard, request.fence)
        timeout_s = request.deadline - self._loop.time()
        local = self._shards.get(shard)
        if local is not None and local.leads:
            [outcome] = await local.propose([logged], term=term, timeout_s=timeout_s)
            return outcome
        known = hint or (local.leader if local is not None else None)
        others = self._shards.slot_map.others(shard, self._node)
        if known is not None and known.node != self._node:
            node = known.node
        elif local is None and others:
            node = others[attempt % len(others)]
        else:
            raise NoLeaderError(shard)
        return await self._forwarder.propose(
            node,
            ForwardedCommand(
                shard=shard, command=logged, caller=request.caller, timeout_s=timeout_s
            ),
        )

    def _fenced_term(self, shard: ShardId, fence: ShardRef | None) -> int | None:
        """Check a fence, and return the term that the shard itself has to check it by."""
        if fence is None:
            return None
        fenced = ShardId(fence.group, fence.shard)
        local = self._shards.get(fenced)
        term = local.term if local is not None else 0
        if local is None or not local.leads or term != fence.term:
            raise FencedError(fenced, term=term, made_in=fence.term)
        return term if fenced == shard else None
