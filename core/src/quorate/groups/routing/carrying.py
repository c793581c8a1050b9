"""How commands come to the leaders of their shards, wherever those are."""

import asyncio
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, TypeGuard

from quorate.apply.outcomes import COPY_BEHIND, WRONG_SHARD, Outcome
from quorate.config.sections import LimitsSection
from quorate.consensus.messages import Peer
from quorate.groups.pause import Pause
from quorate.groups.refusals import (
    CopyBehindError,
    ExhaustedError,
    FencedError,
    NoLeaderError,
    NotProposedError,
    NotProposedInTimeError,
    UnknownShardError,
    WrongShardError,
)
from quorate.groups.routing import routes
from quorate.groups.routing.forwarding import ForwardedCommand, Forwarder, run_bytes, weight
from quorate.groups.routing.local import LocalShards
from quorate.groups.routing.parcels import Parcel
from quorate.groups.routing.proposing import Result, Timed, propose_in_order
from quorate.plugin import Invalid, Rejected, ShardRef
from quorate.plugin.catalog import Catalog
from quorate.plugin.shard_id import ShardId
from quorate.plugin.splitting import within


class Call(NamedTuple):
    """What all commands of one call have in common."""

    fence: ShardRef | None = None
    caller: str = ""
    #: Those that go to one shard come into its log in their order.
    ordered: bool = False


#: A parcel that was surely not proposed, and why.
_Refused = tuple[Parcel, NotProposedError]


class Carrier:
    """Proposes here or one hop away, and tries again what was surely not proposed."""

    def __init__(
        self,
        node: str,
        catalog: Catalog,
        shards: LocalShards,
        forwarder: Forwarder,
        loop: asyncio.AbstractEventLoop,
        limits: LimitsSection,
    ) -> None:
        self._node: Final = node
        self._catalog: Final = catalog
        self._shards: Final = shards
        self._forwarder: Final = forwarder
        self._loop: Final = loop
        self._limits: Final = limits
        self._run_bytes: Final = run_bytes(limits)

    async def carry_all(self, parcels: Sequence[Parcel], call: Call) -> None:
        """Carry parcels to all of their shards, side by side."""
        if len(parcels) == 1:
            await self.carry(parcels[0].share.shard, parcels, call)
            return
        by_shard: dict[ShardId, list[Parcel]] = {}
        for parcel in parcels:
            by_shard.setdefault(parcel.share.shard, []).append(parcel)
        ways = [
            self.carry(shard, run, call)
            for shard, found in by_shard.items()
            for run in self._runs(deque(found))
        ]
        if len(ways) == 1:
            await ways[0]
        elif ways:
            await asyncio.gather(*map(self._loop.create_task, ways))

    async def carry(self, shard: ShardId, parcels: Sequence[Parcel], call: Call) -> None:
        """Carry parcels to one shard in one go; each ends as soon as it is known how.

        While no leader is known, or another one than was thought, they are tried again until their
        deadlines, or until there has been none for longer than an election takes; and on other
        shards when the slot map has changed meanwhile. In an ordered call nothing is tried again
        once what follows it was proposed, or on another shard.
        """
        pause = Pause(self._loop)
        hint: Peer | None = None
        while True:
            results = await self._attempt(shard, parcels, call, hint, pause.count)
            refused = _settled(shard, parcels, results, call)
            if not refused:
                return
            error = refused[0][1]
            hint = error.leader if isinstance(error, NoLeaderError) else None
            # News of another leader are followed at once, but not in circles.
            if hint is not None and hint.node != self._node and not pause.count:
                pause.count += 1
                parcels = [parcel for parcel, _ in refused]
                continue
            leaderless_from = self._leaderless_from(shard)
            if hint is None and self._loop.time() >= leaderless_from:
                for parcel, why in refused:
                    parcel.end(why)
                return
            refused = await self._wait(pause, refused, leaderless_from)
            parcels = self._routed(refused, call)
            if any(parcel.share.shard != shard for parcel in parcels):
                await self.carry_all(parcels, call)
                return
            if not parcels:
                return

    def next_run(self, waiting: deque[Parcel]) -> list[Parcel]:
        """Take from what goes to one shard what is carried there in one go."""
        run = [waiting.popleft()]
        size = weight(run[0].logged)
        while waiting and (size := size + weight(waiting[0].logged)) <= self._run_bytes:
            run.append(waiting.popleft())
        return run

    def _runs(self, waiting: deque[Parcel]) -> Iterator[list[Parcel]]:
        while waiting:
            yield self.next_run(waiting)

    async def _attempt(
        self,
        shard: ShardId,
        parcels: Sequence[Parcel],
        call: Call,
        hint: Peer | None,
        attempt: int,
    ) -> Sequence[Result]:
        try:
            term = self._fenced_term(shard, call.fence)
            now = self._loop.time()
            local = self._shards.get(shard)
            if local is not None and local.leads:
                timed = [Timed(each.logged, each.order.deadline - now) for each in parcels]
                return await propose_in_order(local, timed, term)
            node = self._leader(shard, local.leader if local is not None else None, hint, attempt)
            forwarded = [
                ForwardedCommand(
                    shard=shard,
                    command=each.logged,
                    caller=call.caller,
                    timeout_s=each.order.deadline - now,
                )
                for each in parcels
            ]
            return await self._forwarder.propose(node, forwarded)
        except Exception as error:  # noqa: BLE001 - each command ends with it
            return [error] * len(parcels)

    def _leader(self, shard: ShardId, known: Peer | None, hint: Peer | None, attempt: int) -> str:
        """Return the node that may lead; raises `NoLeaderError` when there is none to ask."""
        known = hint or known
        others = self._shards.slot_map.others(shard, self._node)
        if known is not None and known.node != self._node:
            return known.node
        if self._shards.get(shard) is None and others:
            return others[attempt % len(others)]
        raise NoLeaderError(shard)

    def _leaderless_from(self, shard: ShardId) -> float:
        """From when on a write is given up; never where a replica elsewhere knows better."""
        local = self._shards.get(shard)
        return float("inf") if local is None else local.leaderless_from

    async def _wait(
        self, pause: Pause, refused: Sequence[_Refused], leaderless_from: float
    ) -> list[_Refused]:
        """Wait before the next attempt, and return those that have time for it."""
        now = self._loop.time()
        until = min(now + pause.next_s, max(now, leaderless_from))
        in_time = [each for each in refused if each[0].order.deadline > until]
        for parcel, error in refused:
            if parcel.order.deadline <= until:
                late = NotProposedInTimeError(
                    "the deadline passed and nothing was proposed, so trying again is safe; the "
                    f"last reason was: {error}"
                )
                late.__cause__ = error
                parcel.end(late)
        if in_time:
            await pause.until(float("inf"), latest=until)
        return in_time

    def _routed(self, refused: Sequence[_Refused], call: Call) -> list[Parcel]:
        """Return what goes on, where the slot map says now."""
        going: list[Parcel] = []
        for parcel, error in refused:
            if not isinstance(error, WrongShardError):
                going.append(parcel)
                continue
            share, order = parcel.share, parcel.order
            try:
                command = routes.declared(self._catalog, parcel.logged.type)
                placed = routes.route(command, share.command, self._shards.slot_map, self._limits)
            except Exception as failure:  # noqa: BLE001 - it is how this command ends
                parcel.end(failure)
                continue
            shards = [each.shard for each in placed]
            if shards == [share.shard]:
                going.append(parcel)
            elif call.ordered or order.stamp is not None:
                # A retry never takes an operation of a session to another shard.
                parcel.end(error)
            else:
                order.divide(len(placed))
                going += [Parcel(order, within(share, each)) for each in placed]
        return going

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


def _settled(
    shard: ShardId, parcels: Sequence[Parcel], results: Sequence[Result], call: Call
) -> list[_Refused]:
    """End what has ended, and return what may be tried again."""
    results = [_judged(shard, result) for result in results]
    first = 0
    if call.ordered:
        first = max((at + 1 for at, each in enumerate(results) if _may_be_logged(each)), default=0)
    refused: list[_Refused] = []
    for place, (parcel, result) in enumerate(zip(parcels, results, strict=True)):
        if place >= first and _is_worth_it(result):
            refused.append((parcel, result))
        else:
            parcel.end(result)
    return refused


def _judged(shard: ShardId, result: Result) -> Result:
    if isinstance(result, Outcome) and result.refusal is not None:
        code, message = result.refusal
        if code == WRONG_SHARD:
            return WrongShardError(shard, message)
        if code == COPY_BEHIND:
            return CopyBehindError(f"shard {shard} did not carry it out: {message}")
    return result


def _may_be_logged(result: Result) -> bool:
    return not isinstance(result, NotProposedError | Rejected | Invalid)


def _is_worth_it(result: Result) -> TypeGuard[NotProposedError]:
    """Whether a command was surely not proposed, and may well be when it is tried again."""
    return isinstance(result, NotProposedError) and not isinstance(
        result, NotProposedInTimeError | ExhaustedError | UnknownShardError
    )
