"""Delivers commands to the leaders of their shards on any node."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeGuard

from quorate.apply.outcomes import COPY_BEHIND, WRONG_SHARD, Outcome
from quorate.config.sections import LimitsSection
from quorate.consensus.messages import Peer
from quorate.plugin import Invalid, Rejected, ShardRef
from quorate.plugin.batch_split import within
from quorate.plugin.catalog import Catalog
from quorate.plugin.shard_id import ShardId
from quorate.shards.refusals import (
    CopyBehindError,
    ExhaustedError,
    FencedError,
    NoLeaderError,
    NotProposedError,
    NotProposedInTimeError,
    UnknownShardError,
    WrongShardError,
    settled,
)
from quorate.shards.routing import routes
from quorate.shards.routing.forwarding import Forwarder, LocalShards, run_bytes, weight
from quorate.shards.routing.proposing import Result, propose_in_order
from quorate.shards.routing.requests import Part
from quorate.shards.timing import LONGEST_PAUSE_S, Pause

#: The longest pause while a shard is split or merged, which is soon over.
_CHANGING_PAUSE_S: Final = 0.04


class Call(NamedTuple):
    """The options of a call."""

    fence: ShardRef | None = None
    #: Commands for the same shard keep their order in its log.
    ordered: bool = False


#: The call of most commands.
ALONE: Final = Call()
#: What a retry does not help against.
_NOT_AGAIN: Final = (NotProposedInTimeError, ExhaustedError, UnknownShardError)
#: A part that was surely not proposed, and the reason.
_Refused = tuple[Part, NotProposedError]


@dataclass(eq=False)
class Delivery:
    """Proposes here or one hop away, and retries commands that were surely not proposed."""

    _node: str
    _catalog: Catalog
    _shards: LocalShards
    _forwarder: Forwarder
    _loop: asyncio.AbstractEventLoop
    _limits: LimitsSection

    def __post_init__(self) -> None:
        self._run_bytes = run_bytes(self._limits)
        #: The last known leaders of shards without a replica here.
        self._led: dict[ShardId, str] = {}

    def deliver_all(self, parts: Sequence[Part], call: Call) -> Awaitable[None]:
        """Deliver parts to their shards concurrently."""
        if len(parts) == 1:
            return self.deliver(parts[0].command.shard, parts, call)
        return self._deliver_each(parts, call)

    async def _deliver_each(self, parts: Sequence[Part], call: Call) -> None:
        by_shard: dict[ShardId, list[Part]] = {}
        for part in parts:
            by_shard.setdefault(part.command.shard, []).append(part)
        ways = [
            self.deliver(shard, run, call)
            for shard, found in by_shard.items()
            for run in self._runs(deque(found))
        ]
        if len(ways) == 1:
            await ways[0]
        elif ways:
            await asyncio.gather(*map(self._loop.create_task, ways))

    async def deliver(self, shard: ShardId, parts: Sequence[Part], call: Call) -> None:
        """Deliver parts to a shard together; each ends as soon as its outcome is known.

        Without the right leader they are retried until their deadlines, or until there was no
        leader for longer than an election takes; and on other shards after a change of the slot
        map. In an ordered call a part is never retried after a later one was proposed, nor on
        another shard.
        """
        pause = Pause(self._loop)
        hint: Peer | None = None
        while True:
            results = await self._attempt(shard, parts, call, hint, pause.count)
            if len(results) == 1 and _is_done(result := results[0]):
                parts[0].end(result)
                return
            refused = _settled(shard, parts, results, call)
            if not refused:
                return
            error = refused[0][1]
            hint = error.leader if isinstance(error, NoLeaderError) else None
            if hint is not None:
                self._led[shard] = hint.node
            # Follow a hint to another leader at once, but only once.
            if hint is not None and hint.node != self._node and not pause.count:
                pause.count += 1
                parts = [part for part, _ in refused]
                continue
            local = self._shards.get(shard)
            # Without a replica here the leader is unknown, and what goes elsewhere needs none.
            leaderless_from = float("inf")
            if local is not None and not isinstance(error, WrongShardError):
                leaderless_from = local.leaderless_from
            if hint is None and self._loop.time() >= leaderless_from:
                for part, why in refused:
                    part.end(why)
                return
            changing = shard in self._shards.slot_map.changing
            pause.longest_s = _CHANGING_PAUSE_S if changing else LONGEST_PAUSE_S
            refused = await self._wait(pause, refused, leaderless_from)
            parts = self._routed(refused, call)
            if any(part.command.shard != shard for part in parts):
                await self.deliver_all(parts, call)
                return
            if not parts:
                return

    def next_run(self, waiting: deque[Part]) -> list[Part]:
        """Remove and return the parts for the next request to a shard."""
        run = [waiting.popleft()]
        size = weight(run[0].logged)
        while waiting and (size := size + weight(waiting[0].logged)) <= self._run_bytes:
            run.append(waiting.popleft())
        return run

    def _runs(self, waiting: deque[Part]) -> Iterator[list[Part]]:
        while waiting:
            yield self.next_run(waiting)

    async def _attempt(
        self,
        shard: ShardId,
        parts: Sequence[Part],
        call: Call,
        hint: Peer | None,
        attempt: int,
    ) -> Sequence[Result]:
        try:
            self._shards.slot_map.check_unmerged(shard)
            term = self._fenced_term(shard, call.fence)
            if self._shards.is_unopened(shard):
                await self._shards.opened(shard, max(each.request.deadline for each in parts))
            commands = [each.logged for each in parts]
            deadlines = [each.request.deadline for each in parts]
            local = self._shards.get(shard)
            if local is not None and local.leads:
                return await propose_in_order(local, commands, deadlines, self._loop.time, term)
            node = self._leader(shard, local.leader if local is not None else None, hint, attempt)
            return await self._forwarder.propose(node, shard, commands, deadlines)
        except Exception as error:  # noqa: BLE001 - each command ends with it
            return [settled(error)] * len(parts)

    def _leader(self, shard: ShardId, known: Peer | None, hint: Peer | None, attempt: int) -> str:
        """Return the node that may lead; raises `NoLeaderError` if none is known."""
        known = hint or known
        others = self._shards.slot_map.others(shard, self._node)
        if known is not None and known.node != self._node:
            return known.node
        if self._shards.get(shard) is None and others:
            led = self._led.get(shard)
            if led in others and not attempt:
                return led
            return others[attempt % len(others)]
        raise NoLeaderError(shard)

    async def _wait(
        self, pause: Pause, refused: Sequence[_Refused], leaderless_from: float
    ) -> list[_Refused]:
        """Wait before the next attempt, and return those that have time for it."""
        now = self._loop.time()
        until = min(now + pause.next_s, max(now, leaderless_from))
        in_time = [each for each in refused if each[0].request.deadline > until]
        for part, error in refused:
            if part.request.deadline <= until:
                late = NotProposedInTimeError(
                    "the deadline passed and nothing was proposed, so a retry is safe; the "
                    f"last reason was: {error}"
                )
                late.__cause__ = error
                part.end(late)
        if in_time:
            await pause.until(float("inf"), latest=until)
        return in_time

    def _routed(self, refused: Sequence[_Refused], call: Call) -> list[Part]:
        """Return the parts to retry, routed by the current slot map."""
        going: list[Part] = []
        for part, error in refused:
            if not isinstance(error, WrongShardError):
                going.append(part)
                continue
            whole, request = part.command, part.request
            if part.logged.slotless:
                part.end(error)
                continue
            try:
                command = routes.declared(self._catalog, part.logged.type)
                placed = routes.route(command, whole.message, self._shards.slot_map, self._limits)
            except Exception as failure:  # noqa: BLE001 - it is how this command ends
                part.end(settled(failure))
                continue
            shards = [each.shard for each in placed]
            if shards == [whole.shard]:
                going.append(part)
            elif call.ordered or (request.stamp is not None and len(shards) > 1):
                # One of a session goes to one shard, where its session went with the slots.
                part.end(error)
            else:
                request.divide(len(placed))
                going += [Part(request, within(whole, each)) for each in placed]
        return going

    def _fenced_term(self, shard: ShardId, fence: ShardRef | None) -> int | None:
        """Check a fence, and return the term that the shard must check, if any."""
        if fence is None:
            return None
        fenced = ShardId(fence.group, fence.shard)
        merged = fenced in self._shards.slot_map.merged
        local = None if merged else self._shards.get(fenced)
        term = local.term if local is not None else 0
        if local is None or not local.leads or term != fence.term:
            raise FencedError(fenced, term=term, made_in=fence.term)
        return term if fenced == shard else None


def _settled(
    shard: ShardId, parts: Sequence[Part], results: Sequence[Result], call: Call
) -> list[_Refused]:
    """End completed parts, and return those to retry."""
    results = [_judged(shard, result) for result in results]
    first = 0
    if call.ordered:
        first = max((at + 1 for at, each in enumerate(results) if _may_be_logged(each)), default=0)
    refused: list[_Refused] = []
    for place, (part, result) in enumerate(zip(parts, results, strict=True)):
        if place >= first and _is_worth_it(result):
            refused.append((part, result))
        else:
            part.end(result)
    return refused


def _judged(shard: ShardId, result: Result) -> Result:
    if isinstance(result, Outcome) and result.refusal is not None:
        code, message = result.refusal
        if code == WRONG_SHARD:
            return WrongShardError(shard, message)
        if code == COPY_BEHIND:
            return CopyBehindError(f"shard {shard} did not carry it out: {message}")
    return result


def _is_done(result: Result) -> bool:
    """Whether a command was carried out, as most are."""
    return isinstance(result, Outcome) and result.refusal is None


def _may_be_logged(result: Result) -> bool:
    return not isinstance(result, NotProposedError | Rejected | Invalid)


def _is_worth_it(result: Result) -> TypeGuard[NotProposedError]:
    """Whether a command was surely not proposed, and a retry may succeed."""
    return isinstance(result, NotProposedError) and not isinstance(result, _NOT_AGAIN)
