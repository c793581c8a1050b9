"""The shards with their nodes and leaders, as known to this client."""

from __future__ import annotations

import asyncio
import itertools
import os
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from quorate.client.connections import Connections
from quorate.client.errors import ClosedError, InvalidError, UnavailableError
from quorate.client.failures import AttemptError
from quorate.plugin.shard_id import ShardId
from quorate.plugin.slots import SLOTS, slots_in
from quorate.v1.admin_pb2 import ShardPlace, TopologyRequest, TopologyResponse

#: Age at which the topology is refreshed with the next call, unless a node reports changes.
_FRESH_S: Final = 2.0
#: A client that makes no calls for this time gets no more changes.
_IDLE_S: Final = 30.0
#: Pause before another node is asked to report changes.
_AGAIN_S: Final = 1.0
#: How long one node may take to answer.
_ANSWER_S: Final = 1.0
#: How long a node that did not answer is asked last.
_AVOID_S: Final = 1.0

#: The environment variable that names the nodes to ask first.
VARIABLE: Final = "QUORATE_ENDPOINTS"
#: Those of `quorate dev`.
DEFAULT: Final = "127.0.0.1:7401,127.0.0.1:7402,127.0.0.1:7403"

_METHOD: Final = "/quorate.v1.AdminService/Topology"
_FOLLOW: Final = "/quorate.v1.AdminService/WatchTopology"


@dataclass(slots=True)
class Place:
    """One shard, and which node leads it."""

    shard: ShardId
    version: int
    leader: str
    term: int
    #: Of the leader; empty while none is known.
    address: str = ""
    #: A node that does not lead named this leader: newer than the topology on its way.
    hinted: bool = False


class Topology:
    """The nodes and shards of a cluster: asked for at first, and sent by a node from then on.

    Refusals of nodes correct it meanwhile. If no node reports changes, it is refreshed.
    """

    def __init__(self, endpoints: Sequence[str], connections: Connections) -> None:
        self._endpoints: Final = tuple(endpoints)
        self._connections: Final = connections
        self._addresses: dict[str, str] = {}
        self._reported: dict[ShardId, ShardPlace] = {}
        self._places: dict[ShardId, Place] = {}
        self._owners: dict[str, list[Place | None]] = {}
        self._cluster_id = b""
        self._asking: asyncio.Task[TopologyResponse] | None = None
        self._fresh_until = 0.0
        self._following: asyncio.Task[None] | None = None
        #: Whether the stream of changes is open.
        self._follows = False
        self._used_at = 0.0
        self._avoided: Final[dict[str, float]] = {}
        # Clients that start together do not all ask the same node.
        self._turn: Final = itertools.count(random.randrange(SLOTS))
        self._closed = False

    # Where to send.

    def owners(self, group: str) -> Sequence[Place | None] | None:
        """Return the owner of each slot of a group; None while the group is unknown."""
        self._used_at = now = asyncio.get_running_loop().time()
        if now > self._fresh_until:
            if self._cluster_id and self._following is None:
                self._following = asyncio.create_task(self._follow())
            self._ask()
        return self._owners.get(group)

    def place(self, group: str, slot: int) -> Place | None:
        """Return the shard of a slot, if it is known."""
        owners = self.owners(group)
        return owners[slot] if owners is not None else None

    @property
    def has_others(self) -> bool:
        """Whether more than one node is known."""
        return len(self._addresses) > 1

    def any_address(self) -> str:
        """Return an address to call, taking turns; nodes that do not answer come last."""
        return self.addresses()[0]

    async def address_of(self, node: str, timeout_s: float) -> str:
        """Return the address of a node; raises `InvalidError` for an unknown node."""
        if node not in self._addresses:
            await self.fresh(timeout_s)
        address = self._addresses.get(node)
        if address is None:
            known = ", ".join(sorted(self._addresses)) or "none"
            raise InvalidError("node", f"{node!r} is not a node of the cluster; nodes: {known}")
        return address

    # What is known.

    def __repr__(self) -> str:
        known = f"cluster {self._cluster_id.hex()}" if self._cluster_id else "not connected"
        return f"{','.join(self._endpoints)}, {known}"

    async def fresh(self, timeout_s: float) -> TopologyResponse:
        """Ask a node for the topology; raises `AttemptError` when no node answers in time."""
        asking = self._ask()
        try:
            async with asyncio.timeout(timeout_s):
                return await asyncio.shield(asking)
        except TimeoutError:
            raise AttemptError("safe", self._silent()) from None
        except asyncio.CancelledError:
            if asking.cancelled() and self._closed:
                raise ClosedError from None
            raise

    def doubt(self) -> None:
        """Ask again beside the next call: something has moved."""
        self._fresh_until = 0.0

    def avoid(self, address: str) -> None:
        """Ask a node last for a while: it did not answer."""
        self._avoided[address] = asyncio.get_running_loop().time() + _AVOID_S
        for place in self._places.values():
            if place.address == address:
                place.address = ""
        self.doubt()

    def follow(self, shard: str, leader: str) -> bool:
        """Take a hint to the leader of a shard; return whether it changed anything."""
        for place in self._places.values():
            if str(place.shard) == shard and leader in self._addresses:
                address = self._addresses[leader]
                changed = place.address != address
                place.leader, place.address, place.hinted = leader, address, True
                return changed
        return False

    async def close(self) -> None:
        """Ask no more."""
        self._closed = True
        ending = [task for task in (self._asking, self._following) if task is not None]
        for task in ending:
            task.cancel()
        await asyncio.gather(*ending, return_exceptions=True)

    # How it is found out.

    def _silent(self) -> UnavailableError:
        known = ", ".join(self._endpoints)
        return UnavailableError(
            f"no node answers at {known}; start the cluster, or name other endpoints"
        )

    def _ask(self) -> asyncio.Task[TopologyResponse]:
        if self._closed:
            raise ClosedError
        if self._asking is None or self._asking.done():
            self._asking = asyncio.get_running_loop().create_task(self._find_out())
            self._asking.add_done_callback(_look_at)
        return self._asking

    async def _find_out(self) -> TopologyResponse:
        # Nobody asks again before this has ended, however it ends.
        loop = asyncio.get_running_loop()
        self._fresh_until = self._good_until()
        failed: AttemptError | None = None
        leaderless: TopologyResponse | None = None
        for address in self.addresses():
            if leaderless is not None and self._avoided.get(address, 0.0) > loop.time():
                break
            try:
                answer = await self._connections.to(address).call(
                    _METHOD, TopologyRequest(), TopologyResponse, _ANSWER_S
                )
            except AttemptError as error:
                failed = error
                if error.unreachable:
                    self._avoided[address] = loop.time() + _AVOID_S
            else:
                if all(each.leader for each in answer.shards):
                    self._learn(answer)
                    return answer
                # It may lag; another one may know more.
                leaderless = leaderless or answer
        self._fresh_until = self._good_until()
        if leaderless is not None:
            self._learn(leaderless)
            return leaderless
        raise failed or AttemptError("safe", self._silent())

    def _good_until(self) -> float:
        now = asyncio.get_running_loop().time()
        return float("inf") if self._follows else now + _FRESH_S

    async def _follow(self) -> None:
        """Receive changes from a node until it ends, or until nothing is called here any more."""
        loop = asyncio.get_running_loop()
        watchdog = loop.call_later(_IDLE_S, self._end_if_idle)
        try:
            answers = self._connections.to(self.any_address()).stream(
                _FOLLOW, TopologyRequest(), TopologyResponse, None
            )
            async for answer in answers:
                self._learn(answer)
                if not self._follows:
                    self._follows, self._fresh_until = True, float("inf")
        except (AttemptError, ClosedError):
            pass
        finally:
            watchdog.cancel()
            if self._follows:
                # It may have ended because something has moved.
                self._follows, self._fresh_until = False, 0.0
        # Do not ask a node again and again that does not report changes.
        await asyncio.sleep(_AGAIN_S)
        self._following = None

    def _end_if_idle(self) -> None:
        if self._following is None:
            return
        idle_s = asyncio.get_running_loop().time() - self._used_at
        if idle_s < _IDLE_S:
            asyncio.get_running_loop().call_later(_IDLE_S - idle_s, self._end_if_idle)
        else:
            self._following.cancel()
            self._following = None

    def _learn(self, answer: TopologyResponse) -> None:
        earlier = self._places if answer.cluster_id == self._cluster_id else {}
        reported = {ShardId(each.group, each.number): each for each in answer.shards}
        for shard, each in reported.items():
            before = self._reported.get(shard)
            # Nor does it know who owns slots that have moved since.
            if earlier and before is not None and before.version > each.version:
                each.slots, each.version = before.slots, before.version
        self._reported = self._reported | reported if answer.changes_only and earlier else reported
        self._cluster_id = answer.cluster_id
        self._connections.pin.cluster = self._connections.pin.cluster or answer.cluster_id
        self._addresses = {each.node: each.address for each in answer.nodes}
        self._places = {}
        self._owners = {}
        for shard, each in self._reported.items():
            place = Place(shard, each.version, each.leader, each.term)
            known = earlier.get(place.shard)
            # A node that lags does not know the leader of a later term.
            if known is not None and (
                known.term > place.term or (known.hinted and known.term == place.term)
            ):
                place.leader, place.term = known.leader, known.term
            place.address = self._addresses.get(place.leader, "")
            self._places[place.shard] = place
            owners = self._owners.setdefault(each.group, [None] * SLOTS)
            for slot in slots_in(each.slots):
                holder = owners[slot]
                if holder is None or holder.version < place.version:
                    owners[slot] = place

    def addresses(self) -> list[str]:
        """Return all addresses, beginning with another one each time; see `any_address`."""
        known = [*dict.fromkeys((*self._addresses.values(), *self._endpoints))]
        turn = next(self._turn) % len(known)
        now = asyncio.get_running_loop().time()
        return sorted(
            known[turn:] + known[:turn], key=lambda address: self._avoided.get(address, 0.0) > now
        )


def _look_at(asking: asyncio.Task[TopologyResponse]) -> None:
    """Mark the exception as retrieved: waiters get it, if any."""
    if not asking.cancelled():
        asking.exception()


def endpoints_of(text: str | None, environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Return the addresses in `host:port,host:port`; without a text the default ones.

    Raises `InvalidError` for what is no list of addresses.
    """
    text = text or environ.get(VARIABLE) or DEFAULT
    addresses = tuple(part.strip() for part in text.split(","))
    for address in addresses:
        host, _, port = address.rpartition(":")
        if not host or not port.isdecimal() or not 0 < int(port) < 65_536:
            raise InvalidError(
                "endpoints",
                f"{address!r} in {text!r} is not an address; write host:port,host:port,... as in "
                f"{DEFAULT}",
            )
    return tuple(dict.fromkeys(addresses))
