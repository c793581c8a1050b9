"""Balances leaders over the nodes, slowly enough not to disturb clients."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from quorate.consensus.progress import Mode
from quorate.consensus.refusals import NotLeaderError, TransferRefusedError
from quorate.plugin.shard_id import ShardId
from quorate.shards.timing import Background, every

if TYPE_CHECKING:
    from quorate.apply.placement import Placement
    from quorate.shards.shard.shard import Shard

_log = logging.getLogger(__name__)

#: No leader is moved within this time after any change of leaders.
QUIET_S: Final = 10.0
#: How long a leader stays where an operator placed it.
PLACED_S: Final = 3_600.0
#: A shard with more commands and reads per second is under load, and its leader stays until
#: `QUIET_S` after the load. A load longer than `LONGEST_LOAD_S` is no reason to stay: leaders are
#: balanced because of it.
BUSY_PER_S: Final = 20.0
LONGEST_LOAD_S: Final = 600.0
#: The minimum interval between two looks; the time that each shard adds, since looking at many
#: resting shards is mostly wasted; and the maximum interval.
_TICK_S: Final = 1.0
_SHARD_S: Final = 0.004
_LONGEST_TICK_S: Final = 5.0
#: The shards that are looked at in one turn of the loop.
_A_TURN: Final = 32
#: A follower without contact for this time gets no leader.
_SILENT_S: Final = 1.0
_NOBODY: Final[frozenset[str]] = frozenset()


class Leadership(NamedTuple):
    """The leader of a shard, as known to this node."""

    shard: ShardId
    leader: str | None
    voters: frozenset[str]
    #: The voters that could take over at once; known only on the leader.
    ready: frozenset[str] = _NOBODY
    #: Commands and reads of this leader since its start.
    done: float = 0


class Transfer(NamedTuple):
    """A transfer of a shard's leadership to a node."""

    shard: ShardId
    node: str


def choose(me: str, leaderships: Sequence[Leadership]) -> Transfer | None:
    """Return the transfer that this node should make, or None.

    Only the node with the most leaders transfers one, to a node with at least two fewer, so that
    transfers come to an end. A group that is itself unbalanced is preferred.
    """
    if not _has_most(me, leaderships):
        return None
    counts = _counts(leaderships)
    in_group = Counter((each.shard.group, each.leader) for each in leaderships)

    def order(found: Transfer) -> tuple[int, int, ShardId, str]:
        group = found.shard.group
        excess = in_group[group, me] - in_group[group, found.node]
        return counts[found.node], -excess, found.shard, found.node

    found = [
        Transfer(each.shard, node)
        for each in leaderships
        if each.leader == me
        for node in each.ready
        if counts[me] - counts[node] >= 2
    ]
    return min(found, key=order, default=None)


def _counts(leaderships: Collection[Leadership]) -> Counter[str]:
    """Return how many shards each node leads; a voter may lead none."""
    voters = frozenset[str]().union(*{each.voters for each in leaderships})
    counts = Counter(dict.fromkeys(voters, 0))
    counts.update(each.leader for each in leaderships if each.leader is not None)
    return counts


def _has_most(me: str, leaderships: Collection[Leadership]) -> bool:
    """Return whether a node is to transfer one: it has the most leaders, two more than another."""
    counts = _counts(leaderships)
    if not counts or min(counts, key=lambda node: (-counts[node], node)) != me:
        return False
    return counts[me] - min(counts.values()) >= 2


def leadership_of(shard: Shard) -> Leadership:
    """Return the leadership of a replica of this node, without the voters that are ready."""
    configuration = shard.configuration
    leader = shard.leader
    return Leadership(
        shard=shard.id,
        leader=None if leader is None else leader.node,
        voters=configuration.voting_nodes if configuration else _NOBODY,
        done=shard.done,
    )


def ready_of(shard: Shard) -> frozenset[str]:
    """Return the voters of a shard led here that could take over at once.

    A voter is ready if it has, and the leader has applied, all committed entries. None is if an
    operator recently placed the shard on its leader.
    """
    status = shard.replica.status()
    configuration = status.configuration
    if not shard.leads or configuration is None:
        return _NOBODY
    if status.applied < status.commit or shard.shortage is not None:
        return _NOBODY
    if stays(shard.placement, shard.me.node, shard.now_ms()):
        return _NOBODY
    return frozenset(
        follower.peer.node
        for follower in status.followers
        if follower.peer in configuration.voters
        and follower.mode == Mode.REPLICATE.value
        and follower.match >= status.commit
        and follower.silent_s <= _SILENT_S
    )


def stays(placed: Placement | None, leader: str, now_ms: int) -> bool:
    """Whether an operator recently handed a shard to its leader, in logical time."""
    return placed is not None and placed.node == leader and now_ms - placed.at_ms < PLACED_S * 1_000


class _Loads:
    """The shards under load, from the counts of their leaders."""

    def __init__(self) -> None:
        self._done: dict[ShardId, float] = {}
        #: The start and end of a shard's load.
        self._spans: dict[ShardId, tuple[float, float]] = {}

    def look(self, leaderships: Iterable[Leadership], now: float, since: float) -> None:
        """Record the counts of now; the last ones were of `since`."""
        done = {each.shard: each.done for each in leaderships}
        for shard, count in done.items():
            if count - self._done.get(shard, count) > BUSY_PER_S * (now - since):
                began, ended = self._spans.get(shard, (now, now))
                self._spans[shard] = (began if now - ended < QUIET_S else now), now
        self._done = done

    def hinder(self, shard: ShardId, now: float) -> bool:
        """Whether a load keeps a leader in place."""
        began, ended = self._spans.get(shard, (float("-inf"), float("-inf")))
        return now - ended < QUIET_S and now - began < LONGEST_LOAD_S


async def _in_turns(leaderships: Iterable[Leadership]) -> AsyncIterator[Leadership]:
    """Yield leaderships over several turns of the loop, so that writes need not wait for all."""
    for number, each in enumerate(leaderships):
        if number % _A_TURN == _A_TURN - 1:
            await asyncio.sleep(0)
        yield each


class LeaderBalance(Background):
    """Transfers leaders of this node to others, one at a time, and none under load.

    Nodes do not coordinate: each waits until no leader has changed for `QUIET_S`, and nodes that
    see the same leaders choose the same transfer.
    """

    def __init__(
        self,
        me: str,
        leaderships: Callable[[], Iterable[Leadership]],
        transfer: Callable[[ShardId, str], None],
        *,
        ready: Callable[[ShardId], frozenset[str]] | None = None,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        super().__init__(loop)
        self._me: Final = me
        self._leaderships: Final = leaderships
        self._transfer: Final = transfer
        #: Returns the voters that are ready, if the leaderships do not.
        self._ready: Final = ready
        self._leaders: dict[ShardId, str | None] = {}
        self._loads: Final = _Loads()
        self._quiet_since = loop.time()
        self._looked_at = loop.time()

    async def _run(self) -> None:
        await every(self._loop, _TICK_S, self._look, "cannot balance leaders; trying again")

    async def _look(self) -> None:
        now = self._loop.time()
        tick_s = min(max(_TICK_S, _SHARD_S * len(self._leaders)), _LONGEST_TICK_S)
        if tick_s > _TICK_S and now - self._looked_at < tick_s - _TICK_S / 2:
            return
        found = [each async for each in _in_turns(self._leaderships())]
        leaders = {each.shard: each.leader for each in found}
        # After a stall the known leaders may be out of date.
        if leaders != self._leaders or now - self._looked_at > 2 * tick_s:
            self._quiet_since = now
        self._loads.look(found, now, self._looked_at)
        self._leaders, self._looked_at = leaders, now
        if now - self._quiet_since < QUIET_S:
            return
        if not _has_most(self._me, found):
            return
        judged = [self._judged(each, now) async for each in _in_turns(found)]
        chosen = choose(self._me, judged)
        if chosen is None:
            return
        self._quiet_since = now
        try:
            self._transfer(chosen.shard, chosen.node)
        except (NotLeaderError, TransferRefusedError) as error:
            _log.info("shard %s stays on %s: %s", chosen.shard, self._me, error)
        else:
            _log.info("shard %s moves from %s to %s", chosen.shard, self._me, chosen.node)

    def _judged(self, each: Leadership, now: float) -> Leadership:
        """Return a leadership with the voters that this node may hand it to."""
        if self._loads.hinder(each.shard, now):
            return each._replace(ready=_NOBODY)
        if self._ready is None or each.leader != self._me:
            return each
        return each._replace(ready=self._ready(each.shard))
